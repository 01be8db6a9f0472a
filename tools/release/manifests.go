package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"text/template"
)

// The texts about the program in packages and manifests.
const (
	homepage = "https://github.com/quorumbench/quorumbench"
	summary  = "Benchmark distributed, consistent key-value stores"
	details  = "quorumbench measures etcd, ZooKeeper and Consul. It starts a real cluster or uses a running one, sends load, injects faults, verifies the responses, and reports the results and whether they can be trusted."
)

// krew is the manifest with which kubectl's plug-in manager installs the program as `kubectl
// quorumbench`.
var krew = template.Must(template.New("krew").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: quorumbench
spec:
  version: {{.Version}}
  homepage: {{.Homepage}}
  shortDescription: {{.Summary}}
  description: |
    {{.Details}}
  platforms:
{{- range .Archives}}
    - selector:
        matchLabels:
          os: {{.System}}
          arch: {{.Arch}}
      uri: {{.URL}}
      sha256: {{.SHA256}}
      bin: quorumbench
      files:
        - from: "{{.Folder}}/quorumbench"
          to: .
        - from: "{{.Folder}}/*LICENSE*"
          to: .
{{- end}}
`))

// formula is the formula for Homebrew.
var formula = template.Must(template.New("formula").Parse(`class Quorumbench < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Number}}"
  license "Apache-2.0"
{{range $system, $archives := .Systems}}
  on_{{$system}} do
{{- range $archives}}
    on_{{.Processor}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "quorumbench"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/quorumbench.bash" => "quorumbench"
    zsh_completion.install "completions/_quorumbench"
    fish_completion.install "completions/quorumbench.fish"
    doc.install "THIRD-PARTY-LICENSES"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/quorumbench version")
  end
end
`))

// archive describes a tar.gz file in a manifest.
type archive struct{ System, Arch, Processor, URL, SHA256, Folder string }

// writeManifests writes the krew manifest and the Homebrew formula. Their URLs work once the files
// are published as a release of the repository on GitHub.
func (r *release) writeManifests() error {
	about := struct {
		Version, Number, Homepage, Summary, Details string
		Archives                                    []archive
		Systems                                     map[string][]archive
	}{r.source.version, r.source.number(), homepage, summary, details, nil, map[string][]archive{}}
	brew := map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"}
	for _, b := range r.builds {
		file := b.name() + ".tar.gz"
		sum, err := hashFile(r.path(file))
		if err != nil {
			return err
		}
		a := archive{b.system, b.arch, brew[b.arch], fmt.Sprintf("%s/releases/download/%s/%s", homepage, r.source.version, file), sum, b.name()}
		about.Archives = append(about.Archives, a)
		if a.Processor != "" { // Homebrew has no RISC-V
			about.Systems[brew[b.system]] = append(about.Systems[brew[b.system]], a)
		}
	}
	for name, t := range map[string]*template.Template{"quorumbench.krew.yaml": krew, "quorumbench.rb": formula} {
		var b bytes.Buffer
		if err := t.Execute(&b, about); err != nil {
			return err
		}
		if err := os.WriteFile(r.path(name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// hashFile returns the SHA-256 of a file in hexadecimal digits.
func hashFile(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
