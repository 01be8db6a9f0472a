// Command image writes a container image of a static binary as an OCI archive,
// without a container engine.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"

	"github.com/quorumbench/quorumbench/internal/testing/image"
)

func main() {
	name := flag.String("name", "localhost/quorumbench:latest", "the image's name with its tag")
	binary := flag.String("binary", "", "the static binary")
	entry := flag.String("entry", "/quorumbench", "entry point of the image: the absolute path of the binary in it")
	archive := flag.String("to", "", "the archive to write")
	flag.Parse()
	if *binary == "" || *archive == "" || flag.NArg() > 0 || !path.IsAbs(*entry) || *entry == "/" {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(&image.Image{Name: *name, Variants: []image.Variant{{Binary: *binary}}, Entry: *entry}, *archive); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(*archive)
}

// write writes either the complete archive or nothing.
func write(i *image.Image, to string) error {
	f, err := os.Create(to + ".part")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // here the file exists only if write failed
	if err := i.Write(f); err != nil {
		_ = f.Close() // the first error is the one to report
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), to)
}
