// SPDX-License-Identifier: GPL-2.0-or-later
// labels.go: spends CPU time under labels of runtime/pprof, in a goroutine for each request, and writes the CPU profile
// to the file named first and the heap profile to the second. The inner loop is inlined into its caller.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
)

func step(x uint64) uint64 { return x*6364136223846793005 + 1442695040888963407 }

//go:noinline
func spend(n int) (x uint64) {
	for i := 0; i < n; i++ {
		x = step(x)
	}
	return x
}

//go:noinline
func keep(n int) []byte { return make([]byte, n) }

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var kept [][]byte
	var all sync.WaitGroup
	var spent uint64
	runtime.MemProfileRate = 4096
	cpu, err := os.Create(os.Args[1])
	must(err)
	must(pprof.StartCPUProfile(cpu))
	for _, request := range []string{"GET /", "POST /a b", "naïve \"path\""} {
		all.Add(1)
		labels := pprof.Labels("request", request, "tenant", "t=1;2", "thread_name", "worker")
		go pprof.Do(context.Background(), labels, func(context.Context) {
			atomic.AddUint64(&spent, spend(4e8))
			all.Done()
		})
	}
	// Enough of it that the rate from before, by which the first sample is still taken, leaves none out.
	for i := 0; i < 50000; i++ {
		kept = append(kept, keep(100+100*(i%7)))
	}
	all.Wait()
	pprof.StopCPUProfile()
	must(cpu.Close())
	heap, err := os.Create(os.Args[2])
	must(err)
	runtime.GC() // the profile tells what was there when a collection ended
	must(pprof.WriteHeapProfile(heap))
	must(heap.Close())
	runtime.KeepAlive(kept)
	runtime.KeepAlive(spent)
}
