package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// built returns a small static program whose header claims another machine type.
func built(t *testing.T, machine elf.Machine) string {
	t.Helper()
	dir := t.TempDir()
	source, path := filepath.Join(dir, "p.go"), filepath.Join(dir, "p")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "build", "-trimpath", "-o", path, source)
	c.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const machineOffset = 18 // of the machine type in the header of an ELF file
	binary[machineOffset], binary[machineOffset+1] = byte(machine), byte(machine>>8)
	if err := os.WriteFile(path, binary, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func files(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	in := tar.NewReader(archive)
	for {
		h, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads a blob and checks that it matches its descriptor.
func read[T any](t *testing.T, all map[string][]byte, d v1.Descriptor) (v T) {
	t.Helper()
	b := all["blobs/sha256/"+d.Digest.Encoded()]
	if digest.FromBytes(b) != d.Digest || int64(len(b)) != d.Size {
		t.Fatalf("the blob %s has %d bytes and the digest %s", d.Digest, len(b), digest.FromBytes(b))
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The archive's index leads to the binary, and all digests are correct.
func TestArchive(t *testing.T) {
	settle.SkipUnderRace(t)
	binary := built(t, elf.EM_AARCH64)
	i := &Image{Name: "localhost/p:1", Variants: []Variant{{Binary: binary}}, Entry: "/bin/p"}
	var archive, again bytes.Buffer
	for _, to := range []*bytes.Buffer{&archive, &again} {
		if err := i.Write(to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archive.Bytes(), again.Bytes()) {
		t.Error("two builds from the same binary differ")
	}
	all := files(t, &archive)
	var index v1.Index
	if err := json.Unmarshal(all["index.json"], &index); err != nil || len(index.Manifests) != 1 || string(all["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Fatalf("%v: %s %s", err, all["index.json"], all["oci-layout"])
	}
	if name := index.Manifests[0].Annotations[containerdName]; name != i.Name {
		t.Errorf("the image's name is %q", name)
	}
	manifest := read[v1.Manifest](t, all, index.Manifests[0])
	config := read[v1.Image](t, all, manifest.Config)
	if diff := cmp.Diff([]string{"/bin/p"}, config.Config.Entrypoint); diff != "" || config.Architecture != "arm64" || config.OS != "linux" {
		t.Errorf("%s/%s %s", config.OS, config.Architecture, diff)
	}
	if config.Config.User != User || strings.HasPrefix(User, "0") {
		t.Errorf("the image's user is %q", config.Config.User)
	}
	zipped := all["blobs/sha256/"+manifest.Layers[0].Digest.Encoded()]
	zip, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	if got := digest.FromBytes(plain); got != config.RootFS.DiffIDs[0] {
		t.Errorf("the digest of the layer is %s, want %s", got, config.RootFS.DiffIDs[0])
	}
	want, _ := os.ReadFile(binary)
	if layer := files(t, bytes.NewReader(plain)); len(layer) != 3 || !bytes.Equal(layer["bin/p"], want) {
		t.Error("the layer does not consist of the binary and two folders")
	}
}

// An image for several architectures has an index from which an engine chooses, and each variant
// has its own binary and licences.
func TestArchitectures(t *testing.T) {
	settle.SkipUnderRace(t)
	license := filepath.Join(t.TempDir(), "LICENSE")
	if err := os.WriteFile(license, []byte("free"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := &Image{Name: "localhost/p:1", Entry: "/p", Variants: []Variant{
		{Binary: built(t, elf.EM_X86_64), Licenses: []string{license}}, {Binary: built(t, elf.EM_AARCH64), Licenses: []string{license}},
	}}
	var written bytes.Buffer
	if err := i.Write(&written); err != nil {
		t.Fatal(err)
	}
	all := files(t, &written)
	var top v1.Index
	if err := json.Unmarshal(all["index.json"], &top); err != nil || len(top.Manifests) != 1 || top.Manifests[0].Annotations[containerdName] != i.Name {
		t.Fatalf("%v: %s", err, all["index.json"])
	}
	index := read[v1.Index](t, all, top.Manifests[0])
	var architectures []string
	for _, d := range index.Manifests {
		m := read[v1.Manifest](t, all, d)
		zip, err := gzip.NewReader(bytes.NewReader(all["blobs/sha256/"+m.Layers[0].Digest.Encoded()]))
		if err != nil {
			t.Fatal(err)
		}
		if layer := files(t, zip); string(layer["licenses/LICENSE"]) != "free" || len(layer["p"]) == 0 {
			t.Errorf("the image for %s lacks the binary or the licence", d.Platform.Architecture)
		}
		if c := read[v1.Image](t, all, m.Config); c.Architecture != d.Platform.Architecture || c.Config.User != User {
			t.Errorf("%+v", c)
		}
		architectures = append(architectures, d.Platform.Architecture)
	}
	if diff := cmp.Diff([]string{"amd64", "arm64"}, architectures); diff != "" {
		t.Error(diff)
	}
}

// Binaries that cannot run in an image without other files are refused.
func TestRefused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		text: "not a binary for Linux", built(t, elf.EM_RISCV): "EM_RISCV", filepath.Join(t.TempDir(), "nothing"): "no such file",
	} {
		if err := (&Image{Name: "p:1", Variants: []Variant{{Binary: path}}, Entry: "/p"}).Write(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not %q", path, err, want)
		}
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	if err := (&Image{Name: "p:1", Variants: []Variant{{Binary: shell}}, Entry: "/p"}).Write(io.Discard); err == nil || !strings.Contains(err.Error(), "CGO_ENABLED=0") && !strings.Contains(err.Error(), "not a binary for Linux") {
		t.Errorf("writing an image with the binary of a shell returned: %v", err)
	}
}
