// SPDX-License-Identifier: GPL-2.0-or-later

// gosym FILE: where the functions of a Go program are, START END in hexadecimal and NAME, as Go's own debug/gosym reads its table.
package main

import (
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"log"
	"os"
)

const (
	noTextStart = 0xfffffffa // the magic number of tables that do not say where the text begins
	textStart   = 24         // where they say it
)

// text is the address that a table's entries are relative to: as the linker wrote it, or as the loader will.
func text(file *elf.File, at uint64, table []byte) uint64 {
	begin := file.Section(".text").Addr
	if len(table) < textStart+8 || binary.LittleEndian.Uint32(table) == noTextStart {
		return begin
	}
	if told := binary.LittleEndian.Uint64(table[textStart:]); told != 0 {
		return told
	}
	relocations := file.Section(".rela.dyn")
	if relocations == nil {
		return begin
	}
	data, err := relocations.Data()
	if err != nil {
		log.Fatal(err)
	}
	for ; len(data) >= 24; data = data[24:] {
		if binary.LittleEndian.Uint64(data) == at+textStart {
			return binary.LittleEndian.Uint64(data[16:])
		}
	}
	return begin
}

func main() {
	log.SetFlags(0)
	file, err := elf.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	section := file.Section(".gopclntab")
	if section == nil {
		section = file.Section(".data.rel.ro.gopclntab")
	}
	if section == nil {
		log.Fatal("no .gopclntab")
	}
	data, err := section.Data()
	if err != nil {
		log.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text(file, section.Addr, data)))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range table.Funcs {
		fmt.Printf("%x %x %s\n", f.Entry, f.End, f.Name)
	}
}
