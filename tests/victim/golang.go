// SPDX-License-Identifier: GPL-2.0-or-later
// golang.go: `golang SECONDS`: goroutines with a recursion of known depth, that allocate (the collector runs on other
// stacks), ask for the time (so does the vDSO), and are interrupted by signals.
package main

import (
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
)

//go:noinline
func leaf(n int) (s uint64) {
	for i := 0; i < n; i++ {
		s = s*31 + uint64(i)
	}
	return
}

//go:noinline
func recurse(n int) uint64 {
	var pad [20]uint64
	pad[n%20] = uint64(n)
	if n == 0 {
		return leaf(20000)
	}
	return recurse(n-1) + pad[n%20]
}

type worker struct{ id int }

//go:noinline
func (w *worker) run(end time.Time, all *sync.WaitGroup) (t uint64) {
	for time.Now().Before(end) {
		t += recurse(30)
		m := map[int][]byte{}
		for i := 0; i < 500; i++ {
			m[i] = make([]byte, 64+i%50)
		}
		xs := make([]int, 3000)
		for i := range xs {
			xs[i] = (i * 7919) % 5003
		}
		sort.Ints(xs)
		t += uint64(len(m) + xs[0])
	}
	all.Done()
	return t
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	end := time.Now().Add(time.Duration(seconds * 1e9))
	var all sync.WaitGroup
	for i := 0; i < 2; i++ {
		all.Add(1)
		w := &worker{i}
		go w.run(end, &all)
	}
	all.Wait()
}
