package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quorumbench/quorumbench/internal/testing/browser"
)

// builtSite writes the site of this repository into a new folder.
func builtSite(t *testing.T) (*site, string) {
	t.Helper()
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "site")
	if err := s.write(to); err != nil {
		t.Fatal(err)
	}
	return s, to
}

var (
	// resource matches attributes whose URL a browser loads without a click.
	resource  = regexp.MustCompile(`<(?:img|script|iframe|source|link)\b[^>]*?\b(?:src|href)="([^"]*)"`)
	reference = regexp.MustCompile(`\bhref="([^"]*)"`)
	anchor    = regexp.MustCompile(`\bid="([^"]*)"`)
)

// TestSite checks the HTML pages of the site: each page of the documentation exists with its title
// and its Markdown, loads only files of the site, and links only to pages and headings that exist.
func TestSite(t *testing.T) {
	t.Parallel()
	s, to := builtSite(t)
	if len(s.pages) < 90 {
		t.Errorf("the site has only %d pages", len(s.pages))
	}
	anchors := map[string]map[string]bool{}
	pages := map[string]string{}
	for name, p := range s.pages {
		html, err := os.ReadFile(filepath.Join(to, p.htmlPath()))
		if err != nil {
			t.Fatal(err)
		}
		if markdown, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(markdown, p.text) {
			t.Errorf("the site lacks the Markdown of %s: %v", name, err)
		}
		file := filepath.Join(to, p.htmlPath())
		pages[file], anchors[file] = string(html), map[string]bool{}
		for _, m := range anchor.FindAllStringSubmatch(string(html), -1) {
			anchors[file][m[1]] = true
		}
	}
	for file, html := range pages {
		if !strings.Contains(html, `<html lang="en">`) || strings.Contains(html, "<title></title>") || !strings.Contains(html, "<title>") || !strings.Contains(html, "<h1") {
			t.Errorf("%s has no language, title or heading", file)
		}
		for _, m := range resource.FindAllStringSubmatch(html, -1) {
			if m[1] == "data:," {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s loads %q, which cannot be read: %v", file, m[1], err)
			}
		}
		for _, m := range reference.FindAllStringSubmatch(html, -1) {
			name, anchor, hasAnchor := strings.Cut(m[1], "#")
			if strings.Contains(m[1], ":") {
				continue // another host
			}
			target := file
			if name != "" {
				target = filepath.Join(filepath.Dir(file), name)
			}
			if _, err := os.Stat(target); err != nil || hasAnchor && !anchors[target][anchor] {
				t.Errorf("%s has a broken link: %q (%v)", file, m[1], err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(to, "llms.txt")); err != nil {
		t.Error(err)
	}
}

// TestLLMs compares llms.txt with the index, and checks that it lists every page of the
// documentation.
func TestLLMs(t *testing.T) {
	t.Parallel()
	s, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../llms.txt")
	if err != nil || string(got) != s.llms() {
		t.Errorf("llms.txt is out of date (%v); go run ./tools/site -llms writes it", err)
	}
	for name := range s.pages {
		if name != indexPage && !strings.Contains(string(got), "]("+name+")") {
			t.Errorf("llms.txt does not list %s", name)
		}
	}
}

// TestPagesAreShort checks the maximum lengths of pages: 900 words for the README, 800 for an answer
// to one question, and 150 lines for the changelog. Words in code blocks count, too.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil || len(pages) < 15 {
		t.Fatalf("docs/how-to has %d pages, want at least 15: %v", len(pages), err)
	}
	maxWords := map[string]int{"../../README.md": 900}
	for _, page := range pages {
		maxWords[page] = 800
	}
	for page, limit := range maxWords {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(bytes.Fields(b)); n > limit {
			t.Errorf("%s has %d words, want at most %d", page, n, limit)
		}
	}
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(changes, []byte("\n")); n > 150 {
		t.Errorf("the changelog has %d lines, want at most 150", n)
	}
}

// TestDeadLinks checks that links to files and headings that do not exist are errors.
func TestDeadLinks(t *testing.T) {
	t.Parallel()
	s := &site{source: t.TempDir(), pages: map[string]*page{}, pictures: map[string]bool{}}
	s.pages["docs/a.md"] = parse("docs/a.md", []byte("# A\n\n## One `two`, three\n\n## One `two`, three\n\n[ok](#one-two-three-1) [ok](../b.md) [no](b.md) [no](../b.md#c)\n"))
	s.pages["b.md"] = parse("b.md", []byte("# B\n"))
	err := s.rewriteLinks(s.pages["docs/a.md"])
	want := `docs/a.md: the link "b.md" leads to a file that does not exist; correct the link
docs/a.md: the link "../b.md#c" leads to a heading that does not exist; correct the link`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestSiteInBrowser opens pages with wide tables in a narrow window. The browser must not scroll
// the page sideways, report errors, or load files from elsewhere.
func TestSiteInBrowser(t *testing.T) {
	t.Parallel()
	_, to := builtSite(t)
	b := browser.Open(t, "file://"+filepath.Join(to, "index.html"))
	for _, name := range []string{"index.html", "docs/index.html", "docs/reference/scenarios.html", "docs/reference/commands.html", "docs/explanation/published-results.html"} {
		b.Do(chromedp.EmulateViewport(390, 844), chromedp.Navigate("file://"+filepath.Join(to, name)))
		if width := browser.Value[int](b, "document.documentElement.scrollWidth"); width > 390 {
			t.Errorf("%s is %d pixels wide in a window of 390 pixels", name, width)
		}
	}
	b.CheckErrors()
	b.CheckRequests("file://" + to)
}
