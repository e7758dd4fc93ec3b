// SPDX-License-Identifier: GPL-2.0-or-later

// gosym FILE: where the functions of a Go program are, START END in hexadecimal, as Go's own debug/gosym reads its table.
package main

import (
	"debug/elf"
	"debug/gosym"
	"fmt"
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	file, err := elf.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	section := file.Section(".gopclntab")
	if section == nil {
		log.Fatal("no .gopclntab")
	}
	data, err := section.Data()
	if err != nil {
		log.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, file.Section(".text").Addr))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range table.Funcs {
		fmt.Printf("%x %x\n", f.Entry, f.End)
	}
}
