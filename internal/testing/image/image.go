// Package image writes a container image that contains one static binary. The output is an archive
// in the OCI image layout, which containerd, podman and Docker can read. The package needs no
// tools.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "crypto/sha256" // go-digest requires that its users import the hash
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// containerdName is the annotation in which containerd and Docker expect an image's full name.
const containerdName = "io.containerd.image.name"

// User is the user and group as which a container runs the image's program. They have no special
// permissions. A container that needs another user sets that user.
const User = "65532:65532"

// Image describes an image that contains one file.
type Image struct {
	Name   string // the image's name with its tag, such as localhost/quorumbench:1.0
	Binary string // path of the binary on this machine; it must be a static ELF binary for Linux
	Entry  string // path of the binary in the image, which is also the entry point
	Labels map[string]string
}

// Write writes the archive. The same binary always results in the same archive.
func (i *Image) Write(to io.Writer) error {
	arch, err := architecture(i.Binary)
	if err != nil {
		return err
	}
	layer, plain, err := i.layer()
	if err != nil {
		return err
	}
	platform := v1.Platform{Architecture: arch, OS: "linux"}
	config, err := json.Marshal(v1.Image{
		Platform: platform,
		Config:   v1.ImageConfig{User: User, Entrypoint: []string{i.Entry}, Labels: i.Labels},
		RootFS:   v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{plain}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal(v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: descriptor(v1.MediaTypeImageConfig, config), Layers: []v1.Descriptor{descriptor(v1.MediaTypeImageLayerGzip, layer)},
	})
	if err != nil {
		return err
	}
	described := descriptor(v1.MediaTypeImageManifest, manifest)
	described.Platform = &platform
	described.Annotations = map[string]string{containerdName: i.Name, v1.AnnotationRefName: i.Name}
	index, err := json.Marshal(v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: []v1.Descriptor{described},
	})
	if err != nil {
		return err
	}
	layout, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	for _, f := range []struct {
		name     string
		contents []byte
	}{
		{v1.ImageLayoutFile, layout}, {v1.ImageIndexFile, index},
		{blob(manifest), manifest}, {blob(config), config}, {blob(layer), layer},
	} {
		if err := add(out, f.name, 0o644, f.contents); err != nil {
			return err
		}
	}
	return out.Close()
}

// layer returns the compressed contents of the image's only layer, and the digest of the
// uncompressed contents.
func (i *Image) layer() (compressed []byte, plain digest.Digest, err error) {
	binary, err := os.ReadFile(i.Binary)
	if err != nil {
		return nil, "", err
	}
	var packed bytes.Buffer
	zip, digester := gzip.NewWriter(&packed), digest.Canonical.Digester()
	out := tar.NewWriter(io.MultiWriter(zip, digester.Hash()))
	err = add(out, path.Clean(i.Entry)[1:], 0o755, binary)
	for _, w := range []io.Closer{out, zip} {
		if err == nil {
			err = w.Close()
		}
	}
	return packed.Bytes(), digester.Digest(), err
}

// add adds a file that belongs to root and has no modification time, so that the archive is
// reproducible.
func add(out *tar.Writer, name string, mode int64, contents []byte) error {
	h := &tar.Header{Name: name, Mode: mode, Size: int64(len(contents)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err := out.Write(contents)
	return err
}

func descriptor(kind string, contents []byte) v1.Descriptor {
	return v1.Descriptor{MediaType: kind, Digest: digest.FromBytes(contents), Size: int64(len(contents))}
}

func blob(contents []byte) string {
	d := digest.FromBytes(contents)
	return path.Join(v1.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// architecture returns the name that Go and the OCI use for a binary's machine type. It refuses a
// binary that needs a loader or libraries, because the image would not contain them.
func architecture(binary string) (string, error) {
	f, err := elf.Open(binary)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s is no binary for Linux: build it with GOOS=linux", binary)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // the file was only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is linked dynamically, and nothing else is in its image: build it with CGO_ENABLED=0", binary)
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	}
	return "", fmt.Errorf("%s is for %v, and images are made for amd64 and arm64", binary, f.Machine)
}
