// Package image writes a container image that contains one static binary, for one or several
// architectures. The output is an archive in the OCI image layout, which containerd, podman, and
// Docker with its containerd image store can read. The package needs no tools.
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
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// containerdName is the annotation in which containerd and Docker expect an image's full name.
const containerdName = "io.containerd.image.name"

// User contains the IDs of the user and the group under which a container runs the image's program.
// They have no special permissions. If the program needs another user, the container's settings
// must select that user.
const User = "65532:65532"

// workDir is the program's home folder, in which it starts. The user may write to this folder.
const workDir = "/work"

// Image describes an image that contains one program, for one or several architectures.
type Image struct {
	Name     string // the image's name with its tag, such as localhost/quorumbench:1.0
	Variants []Variant
	Entry    string // path of the binary in the image, which is also the entry point
	Labels   map[string]string
	Created  time.Time // the zero value for none
}

// Variant is the image of one architecture.
type Variant struct {
	Binary   string   // path of the binary on this machine; it must be a static ELF binary for Linux
	Licenses []string // paths of the files that the image contains in /licenses
}

// archive collects the files of an archive.
type archive struct {
	names    []string
	contents [][]byte
}

func (a *archive) add(name string, contents []byte) {
	a.names, a.contents = append(a.names, name), append(a.contents, contents)
}

// Write writes the archive. The same binaries always result in the same archive. If there are
// several variants, the archive contains an index from which engines choose one of them.
func (i *Image) Write(to io.Writer) error {
	layout, err := json.Marshal(v1.ImageLayout{Version: v1.ImageLayoutVersion})
	if err != nil {
		return err
	}
	blobs := &archive{}
	var manifests []v1.Descriptor
	for _, v := range i.Variants {
		d, err := i.addVariant(blobs, v)
		if err != nil {
			return err
		}
		manifests = append(manifests, d)
	}
	top := manifests
	if len(manifests) > 1 {
		index, err := json.Marshal(newIndex(manifests))
		if err != nil {
			return err
		}
		blobs.add(blobPath(index), index)
		top = []v1.Descriptor{descriptor(v1.MediaTypeImageIndex, index)}
	}
	for n := range top {
		top[n].Annotations = map[string]string{containerdName: i.Name, v1.AnnotationRefName: i.Name}
	}
	index, err := json.Marshal(newIndex(top))
	if err != nil {
		return err
	}
	out := tar.NewWriter(to)
	for _, f := range []struct {
		name     string
		contents []byte
	}{{v1.ImageLayoutFile, layout}, {v1.ImageIndexFile, index}} {
		if err := add(out, f.name, 0o644, f.contents); err != nil {
			return err
		}
	}
	for n, name := range blobs.names {
		if err := add(out, name, 0o644, blobs.contents[n]); err != nil {
			return err
		}
	}
	return out.Close()
}

func newIndex(manifests []v1.Descriptor) v1.Index {
	return v1.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex, Manifests: manifests}
}

// addVariant adds the manifest, the configuration and the layer of a variant to blobs. It returns
// the descriptor of the manifest.
func (i *Image) addVariant(blobs *archive, v Variant) (described v1.Descriptor, err error) {
	arch, err := architecture(v.Binary)
	if err != nil {
		return described, err
	}
	layer, plain, err := i.layer(v)
	if err != nil {
		return described, err
	}
	platform := v1.Platform{Architecture: arch, OS: "linux"}
	image := v1.Image{
		Platform: platform,
		Config:   v1.ImageConfig{User: User, Entrypoint: []string{i.Entry}, Env: []string{"HOME=" + workDir}, WorkingDir: workDir, Labels: i.Labels},
		RootFS:   v1.RootFS{Type: "layers", DiffIDs: []digest.Digest{plain}},
	}
	if !i.Created.IsZero() {
		image.Created = &i.Created
	}
	config, err := json.Marshal(image)
	if err != nil {
		return described, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: descriptor(v1.MediaTypeImageConfig, config), Layers: []v1.Descriptor{descriptor(v1.MediaTypeImageLayerGzip, layer)},
	})
	if err != nil {
		return described, err
	}
	described = descriptor(v1.MediaTypeImageManifest, manifest)
	described.Platform = &platform
	blobs.add(blobPath(manifest), manifest)
	blobs.add(blobPath(config), config)
	blobs.add(blobPath(layer), layer)
	return described, nil
}

// layer returns the compressed contents of a variant's only layer, and the digest of the
// uncompressed contents. The layer has the binary, the licences, and two folders for the program's
// files, which the user may write to.
func (i *Image) layer(v Variant) (compressed []byte, plain digest.Digest, err error) {
	var packed bytes.Buffer
	digester := digest.Canonical.Digester()
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	out := tar.NewWriter(io.MultiWriter(zip, digester.Hash()))
	user, group := 0, 0
	if _, err := fmt.Sscanf(User, "%d:%d", &user, &group); err != nil {
		return nil, "", err
	}
	for _, h := range []*tar.Header{
		{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, {Name: workDir[1:] + "/", Mode: 0o755, Uid: user, Gid: group, Typeflag: tar.TypeDir},
	} {
		h.ModTime, h.Format = time.Unix(0, 0), tar.FormatPAX
		if err := out.WriteHeader(h); err != nil {
			return nil, "", err
		}
	}
	if err := addFile(out, path.Clean(i.Entry)[1:], 0o755, v.Binary); err != nil {
		return nil, "", err
	}
	for _, license := range v.Licenses {
		if err := addFile(out, path.Join("licenses", filepath.Base(license)), 0o644, license); err != nil {
			return nil, "", err
		}
	}
	for _, w := range []io.Closer{out, zip} {
		if err := w.Close(); err != nil {
			return nil, "", err
		}
	}
	return packed.Bytes(), digester.Digest(), nil
}

func addFile(out *tar.Writer, name string, mode int64, from string) error {
	contents, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return add(out, name, mode, contents)
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

// blobPath returns the archive path of a blob with the given contents.
func blobPath(contents []byte) string {
	d := digest.FromBytes(contents)
	return path.Join(v1.ImageBlobsDir, d.Algorithm().String(), d.Encoded())
}

// architecture returns the name that Go and the OCI use for a binary's machine type. It refuses a
// binary that needs a loader or libraries, because the image would not contain them.
func architecture(binary string) (string, error) {
	f, err := elf.Open(binary)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s is not a binary for Linux; build it with GOOS=linux", binary)
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // the file was only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is linked dynamically, but the image contains no libraries; build it with CGO_ENABLED=0", binary)
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	}
	return "", fmt.Errorf("%s is for %v, but an image can contain only binaries for amd64 and arm64", binary, f.Machine)
}
