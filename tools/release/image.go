package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorumbench/quorumbench/internal/testing/image"
)

// writeImage writes one image for the architectures of Linux on which container engines are common.
func (r *release) writeImage() error {
	i := &image.Image{
		Name: fmt.Sprintf("localhost/quorumbench:%s", r.source.number()), Entry: "/quorumbench", Created: r.source.date,
		Labels: map[string]string{
			"org.opencontainers.image.source": homepage, "org.opencontainers.image.version": r.source.version,
			"org.opencontainers.image.revision": r.source.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.description": summary,
		},
	}
	for _, b := range r.builds {
		if b.system == "linux" && (b.arch == "amd64" || b.arch == "arm64") {
			i.Variants = append(i.Variants, image.Variant{Binary: b.binary, Licenses: []string{filepath.Join(r.source.dir, "LICENSE"), b.licenses}})
		}
	}
	if len(i.Variants) == 0 {
		return nil
	}
	f, err := os.Create(r.path(program + "_image.tar"))
	if err != nil {
		return err
	}
	if err := i.Write(f); err != nil {
		_ = f.Close() // the first error is the one to report
		return err
	}
	return f.Close()
}
