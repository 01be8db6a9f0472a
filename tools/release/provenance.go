package main

import (
	"bytes"
	"fmt"
	"os"
)

// sumsName is the name of the file that maintainers sign. It has the hash of every other file.
const sumsName = "SHA256SUMS"

// statement is an in-toto statement whose predicate is an SLSA provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder map[string]string `json:"builder"`
	} `json:"runDetails"`
}

// writeProvenance writes the commit, the command and the version of Go that every file was built
// with. It writes no times and no names of machines, so that a second build results in the same
// bytes.
func (r *release) writeProvenance() error {
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	for _, e := range entries {
		sum, err := hashFile(r.path(e.Name()))
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{Name: e.Name(), Digest: map[string]string{"sha256": sum}})
	}
	d := &s.Predicate.BuildDefinition
	d.BuildType = homepage + "/tree/main/tools/release"
	d.ExternalParameters = map[string]string{"repository": homepage, "version": r.source.version}
	d.InternalParameters = map[string]string{"command": "make release", "go": r.source.goTool}
	d.ResolvedDependencies = []subject{{URI: "git+" + homepage, Digest: map[string]string{"gitCommit": r.source.commit}}}
	s.Predicate.RunDetails.Builder = map[string]string{"id": homepage + "/blob/main/Makefile"}
	return writeJSON(r.path(program+".provenance.json"), s)
}

// writeSums writes the hashes of all files in the format of sha256sum.
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.to)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		sum, err := hashFile(r.path(e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(r.path(sumsName), b.Bytes(), 0o644)
}
