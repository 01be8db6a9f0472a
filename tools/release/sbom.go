package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// bom is a software bill of materials in the format CycloneDX 1.6.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Reference  string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	URL        string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Reference string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// writeSBOMs writes a bill of materials for each binary: the modules in its build information, and
// Go's standard library.
func (r *release) writeSBOMs() error {
	for _, b := range r.builds {
		bill, err := r.describeContents(b)
		if err != nil {
			return err
		}
		if err := writeJSON(r.path(b.name()+".cdx.json"), bill); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) describeContents(b *build) (*bom, error) {
	sum, err := hashFile(b.binary)
	if err != nil {
		return nil, err
	}
	self := library("github.com/quorumbench/quorumbench", r.source.version)
	self.Type, self.Name = "application", program
	self.Hashes = []hash{{"SHA-256", sum}}
	self.Properties = []property{{"platform", b.system + "/" + b.arch}, {"commit", r.source.commit}}
	bill := &bom{
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: "urn:uuid:" + uuid(sum), Version: 1,
		Metadata:   metadata{r.source.date.Format(time.RFC3339), self},
		Components: []component{library("std", strings.TrimPrefix(r.source.goTool, "go"))},
	}
	for _, m := range b.modules {
		c := library(m.path, m.version)
		c.Properties = []property{{"go.sum", m.sum}}
		bill.Components = append(bill.Components, c)
	}
	all := dependency{Reference: self.Reference}
	for _, c := range bill.Components {
		all.DependsOn = append(all.DependsOn, c.Reference)
		bill.Dependencies = append(bill.Dependencies, dependency{Reference: c.Reference})
	}
	bill.Dependencies = append(bill.Dependencies, all)
	return bill, nil
}

// library returns the component of a Go module.
func library(path, version string) component {
	url := fmt.Sprintf("pkg:golang/%s@%s", strings.ToLower(path), strings.ReplaceAll(version, "+", "%2B"))
	return component{Type: "library", Reference: url, Name: path, Version: version, URL: url}
}

// uuid returns a UUID (version 8 of RFC 9562) that depends only on name.
func uuid(name string) string {
	b := sha256.Sum256([]byte(name))
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}
