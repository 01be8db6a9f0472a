package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// repository is the address of the repository. Links to files that are not part of the site lead
// there.
const repository = "https://github.com/quorumbench/quorumbench"

// markdown parses and renders Markdown as GitHub does. Pages may contain HTML, such as anchors.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))

// page is a page of the documentation.
type page struct {
	path    string // in the repository, with slashes
	title   string
	text    []byte // Markdown
	root    ast.Node
	anchors map[string]bool
}

var htmlAnchor = regexp.MustCompile(`<a id="([^"]+)">`)

// parse parses a page, and gives each heading the anchor that it has on GitHub.
func parse(name string, contents []byte) *page {
	p := &page{path: name, text: contents, root: markdown.Parser().Parse(text.NewReader(contents)), anchors: map[string]bool{}}
	for _, m := range htmlAnchor.FindAllSubmatch(contents, -1) {
		p.anchors[string(m[1])] = true
	}
	p.visit(func(n ast.Node) {
		h, ok := n.(*ast.Heading)
		if !ok {
			return
		}
		title := p.plainText(h, "")
		if p.title == "" {
			p.title = title
		}
		anchor := slug(title)
		for i := 1; p.anchors[anchor]; i++ {
			anchor = fmt.Sprintf("%s-%d", slug(title), i)
		}
		p.anchors[anchor] = true
		h.SetAttributeString("id", []byte(anchor))
	})
	return p
}

// visit calls a function for each node of the page, parents first.
func (p *page) visit(f func(ast.Node)) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if entering {
			f(n)
		}
		return ast.WalkContinue, nil
	})
}

// plainText returns the text of a node without markup. The mark is inserted before and after code.
func (p *page) plainText(n ast.Node, mark string) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(p.text))
			if c.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(c.Value)
		case *ast.CodeSpan:
			b.WriteString(mark + p.plainText(c, mark) + mark)
		default:
			b.WriteString(p.plainText(c, mark))
		}
	}
	return b.String()
}

// slug returns the anchor of a heading on GitHub, without the number of a repeated heading.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
}

// htmlPath returns the path of the page in the site.
func (p *page) htmlPath() string {
	if path.Base(p.path) == "README.md" {
		return path.Join(path.Dir(p.path), "index.html")
	}
	return strings.TrimSuffix(p.path, ".md") + ".html"
}

// rewriteLinks makes the page's links lead to pages of the site, or to the repository. The error
// lists the links that lead nowhere.
func (s *site) rewriteLinks(p *page) error {
	var errs []error
	p.visit(func(n ast.Node) {
		var err error
		switch n := n.(type) {
		case *ast.Link:
			n.Destination, err = s.resolveLink(p, string(n.Destination))
		case *ast.Image:
			picture := path.Join(path.Dir(p.path), string(n.Destination))
			s.pictures[picture] = true
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p.path, err))
		}
	})
	return errors.Join(errs...)
}

// resolveLink returns the destination that a link in the Markdown page has in the HTML page.
func (s *site) resolveLink(p *page, link string) ([]byte, error) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return []byte(link), nil
	}
	name, anchor, hasAnchor := strings.Cut(link, "#")
	target, found := p, true
	file := path.Join(path.Dir(p.path), name)
	if name != "" {
		target, found = s.pages[file]
	}
	switch {
	case !found:
		info, err := os.Stat(filepath.Join(s.source, filepath.FromSlash(file)))
		if err != nil {
			return nil, fmt.Errorf("the link %q leads to a file that does not exist; correct the link", link)
		}
		kind := "blob"
		if info.IsDir() {
			kind = "tree"
		}
		return []byte(repository + "/" + kind + "/main/" + file), nil
	case hasAnchor && !target.anchors[anchor]:
		return nil, fmt.Errorf("the link %q leads to a heading that does not exist; correct the link", link)
	case name == "":
		return []byte(link), nil
	case hasAnchor:
		anchor = "#" + anchor
	}
	return []byte(relative(p.path, target.htmlPath()) + anchor), nil
}

// render returns the page as HTML.
func (s *site) render(p *page) ([]byte, error) {
	var body, out bytes.Buffer
	if err := markdown.Renderer().Render(&body, p.text, p.root); err != nil {
		return nil, err
	}
	type link struct {
		Title, Target string
		Current       bool
	}
	type group struct {
		Title string
		Links []link
	}
	var groups []group
	for _, section := range s.index {
		g := group{Title: section.title}
		for _, e := range section.entries {
			target := s.pages[e.path]
			g.Links = append(g.Links, link{e.title, relative(p.path, target.htmlPath()), target == p})
		}
		groups = append(groups, g)
	}
	err := pageTemplate.Execute(&out, map[string]any{
		"Title": p.title, "Body": template.HTML(body.String()), "Groups": groups, // #nosec G203 -- the repository's own pages
		"Style": relative(p.path, "style.css"), "Home": relative(p.path, "index.html"), "Markdown": path.Base(p.path),
	})
	return out.Bytes(), err
}
