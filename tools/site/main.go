// Command site writes the documentation as a static site: each page as HTML next to its Markdown,
// the pictures, and llms.txt. The pages load nothing from other hosts. With -llms, it writes only
// llms.txt, into the repository.
package main

import (
	_ "embed" // for the template and the style sheet
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	source := flag.String("source", ".", "the checkout with the documentation")
	to := flag.String("to", "site", "folder for the site, which must be empty or absent")
	llms := flag.Bool("llms", false, "write only llms.txt, into the checkout")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*source, *to, *llms); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(source, to string, llms bool) error {
	s, err := read(source)
	switch {
	case err != nil:
		return err
	case llms:
		return os.WriteFile(filepath.Join(source, "llms.txt"), []byte(s.llms()), 0o644)
	}
	if entries, err := os.ReadDir(to); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty; remove it, or name another folder with -to", to)
	}
	if err := s.write(to); err != nil {
		return err
	}
	fmt.Printf("%d pages: %s\n", len(s.pages), filepath.Join(to, "index.html"))
	return nil
}

// site is the documentation in a checkout.
type site struct {
	source   string
	pages    map[string]*page // by path
	index    []section
	pictures map[string]bool // paths of the pictures that the pages show
}

// rootPages are the pages outside the folder docs.
var rootPages = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}

// read reads all pages in a checkout.
func read(source string) (*site, error) {
	s := &site{source: source, pages: map[string]*page{}, pictures: map[string]bool{}}
	paths := slices.Clone(rootPages)
	err := fs.WalkDir(os.DirFS(source), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			paths = append(paths, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range paths {
		text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		s.pages[name] = parse(name, text)
	}
	s.index, err = s.readIndex()
	return s, err
}

//go:embed page.html
var pageHTML string

//go:embed style.css
var styleSheet []byte

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// write writes the site into a folder. The error lists all links that lead nowhere.
func (s *site) write(to string) error {
	files := map[string][]byte{"style.css": styleSheet, "llms.txt": []byte(s.llms())}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[name]
		errs = append(errs, s.rewriteLinks(p))
		html, err := s.render(p)
		errs = append(errs, err)
		files[p.htmlPath()], files[name] = html, p.text
	}
	for name := range s.pictures {
		picture, err := os.ReadFile(filepath.Join(s.source, filepath.FromSlash(name)))
		errs = append(errs, err)
		files[name] = picture
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for name, contents := range files {
		file := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, contents, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// relative returns the path of a file as a link in a page.
func relative(page, file string) string {
	from := strings.Split(path.Dir(page), "/")
	if from[0] == "." {
		from = nil
	}
	to := strings.Split(file, "/")
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
}
