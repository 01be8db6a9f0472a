package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// section is a part of the index: a heading and the pages below it.
type section struct {
	title   string
	entries []entry
}

// entry is a page in the index.
type entry struct {
	title, path string
	description string // a phrase, or empty
}

// indexPage is the page whose lists form the index. The lists on decisionsPage follow in a separate
// section.
const (
	indexPage     = "docs/README.md"
	decisionsPage = "docs/decisions/README.md"
)

// readIndex reads the index. It returns an error if a page of the documentation is not in it.
func (s *site) readIndex() ([]section, error) {
	index := s.sections(indexPage)
	listed := map[string]bool{indexPage: true}
	for _, section := range append(index, s.sections(decisionsPage)...) {
		for _, e := range section.entries {
			if s.pages[e.path] == nil {
				return nil, fmt.Errorf("the index lists %s, which is not a page; remove the entry", e.path)
			}
			listed[e.path] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		if !listed[name] {
			return nil, fmt.Errorf("the index does not list the page %s; add the page to a list in %s", name, indexPage)
		}
	}
	return index, nil
}

// sections returns the lists of pages that a page contains. Lists below the same heading form a
// section with the title of this heading. Lists before the second heading have the title of the
// page.
func (s *site) sections(name string) (all []section) {
	p := s.pages[name]
	all = []section{{title: p.title}}
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level > 1 {
				title, _, _ := strings.Cut(p.plainText(n, ""), ":")
				all = append(all, section{title: title})
			}
		case *ast.List:
			last := &all[len(all)-1]
			for item := n.FirstChild(); item != nil; item = item.NextSibling() {
				if e, ok := p.entry(item.FirstChild()); ok {
					last.entries = append(last.entries, e)
				}
			}
		}
	}
	return all
}

// entry returns the page to which the link at the beginning of a paragraph leads. The text after the
// link is the description.
func (p *page) entry(paragraph ast.Node) (entry, bool) {
	link, ok := paragraph.FirstChild().(*ast.Link)
	if !ok {
		return entry{}, false
	}
	title := p.plainText(link, "`")
	description := strings.TrimPrefix(p.plainText(paragraph, "`"), title)
	return entry{title, path.Join(path.Dir(p.path), string(link.Destination)), strings.Trim(description, " :,.")}, true
}

// llms returns the file llms.txt, an index for language models (https://llmstxt.org).
func (s *site) llms() string {
	var b strings.Builder
	readme := s.pages["README.md"]
	summary := readme.root.FirstChild().NextSibling()
	fmt.Fprintf(&b, "# quorumbench\n\n> %s\n\nEvery page below is Markdown.\n", readme.plainText(summary, "`"))
	decisions := s.sections(decisionsPage)
	decisions[0].title = "Optional" // a reader with little space can omit this section
	for _, section := range append(s.index, decisions...) {
		if len(section.entries) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", section.title)
		for _, e := range section.entries {
			line := fmt.Sprintf("- [%s](%s)", e.title, e.path)
			if e.description != "" {
				line += ": " + e.description
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
