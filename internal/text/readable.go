package text

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Dash stands for a value that is unknown, or for which there are too few samples.
const Dash = "-"

// PerSecond formats a throughput, for example 18,612/s or 87.3/s.
func PerSecond(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return Dash
	}
	if s, ok := digits3(x); ok && x < 99.95 && x != math.Trunc(x) {
		return s + "/s"
	}
	return Count(uint64(math.Round(x))) + "/s"
}

// Count formats a number with thousands separators.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, digit := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// Number formats a number. Whole numbers get thousands separators; other numbers get four
// significant digits.
func Number(x float64) string {
	if x >= 0 && x < 1<<53 && x == math.Trunc(x) {
		return Count(uint64(x))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Bytes formats a size with three significant digits and binary units.
func Bytes(n uint64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		x /= 1024
		if x < 999.5 || unit == "TiB" {
			if s, ok := digits3(x); ok {
				return s + " " + unit
			}
			return fmt.Sprintf("%.0f %s", x, unit)
		}
	}
	return ""
}

// Seconds formats a duration that a user chose, for example 10 s, 2.5 s or 250 ms.
func Seconds(s float64) string {
	if s > 0 && s < 1 {
		return strconv.FormatFloat(math.Round(s*1e4)/10, 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(math.Round(s*100)/100, 'f', -1, 64) + " s"
}

// MeasuredSeconds formats a duration in seconds that was measured with a resolution of one
// millisecond. It uses at most three significant digits: 4 ms, 181 ms, 1.37 s, 2 s.
func MeasuredSeconds(s float64) string {
	if ms := math.Round(s * 1e3); ms < 1000 {
		return strconv.FormatFloat(ms, 'f', -1, 64) + " ms"
	}
	number, unit, ok := strings.Cut(Duration(s*1e9), " ")
	if !ok {
		return number // Duration returned a dash
	}
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// FixedSeconds formats a time in seconds with the given number of decimals, for example 0.50 s.
func FixedSeconds(s float64, decimals int) string {
	return strconv.FormatFloat(s, 'f', decimals, 64) + " s"
}

// Milliseconds formats nanoseconds as a number of milliseconds.
func Milliseconds(ns float64, decimals int) string {
	return strconv.FormatFloat(ns/1e6, 'f', decimals, 64)
}

// Percent formats a fraction as a percentage with the given number of decimals, for example 12.5 %.
func Percent(share float64, decimals int) string {
	return strconv.FormatFloat(100*share, 'f', decimals, 64) + " %"
}

// WholePercent formats a fraction as a whole percentage. A fraction below 1 % gets two digits, so
// that it is not shown as 0.
func WholePercent(share float64) string {
	if share > 0 && share < 0.01 {
		return Share(share)
	}
	return Percent(share, 0)
}

// SignedPercent formats a relative change with its sign, for example +12.5 % or -0.3 %. It formats
// no change as +0.0 %.
func SignedPercent(share float64) string {
	text := Percent(share, 1)
	if text == "-0.0 %" {
		text = "0.0 %"
	}
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return text
}

// Superscript formats a positive number with superscript digits, for footnotes.
func Superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var b strings.Builder
	for _, digit := range strconv.Itoa(n) {
		b.WriteRune(digits[digit-'0'])
	}
	return b.String()
}

// JoinRange joins two quantities with a dash. If both have the same unit, the result contains the
// unit only once: 970–1,030/s, 1.35–1.66 s, 870 µs–1.20 ms.
func JoinRange(low, high string) string {
	number := func(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789.,")) }
	if n := number(low); n > 0 && low[n:] == high[number(high):] {
		low = low[:n]
	} else if strings.HasPrefix(low, "0 ") { // a bound of 0 shares the other bound's unit
		low = "0"
	}
	return low + "–" + high
}

// Plural formats a count followed by its noun.
func Plural(n uint64, noun string) string { return CountNoun(n, noun, noun+"s") }

// CountNoun formats a count followed by the singular or plural of its noun.
func CountNoun(n uint64, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return Count(n) + " " + plural
}

// ShortList joins the first items of a list with commas, and states how many more items the list
// has.
func ShortList(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// OrList joins words with commas, and with "or" before the last word.
func OrList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// OrDash returns the text, or a dash if it is empty.
func OrDash(s string) string { return cmp.Or(s, Dash) }

// CSVNumber formats a number for a CSV file. An unknown number becomes an empty string.
func CSVNumber(x float64, decimals int) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

// Table writes rows of equal length as left-aligned columns. It makes the cells printable.
func Table(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		for i := range row {
			row[i] = Line(row[i], MaxField)
		}
	}
	_, err := io.WriteString(w, Align("", rows, func(int) bool { return true }))
	return err
}

// Align formats rows as columns. Each column is as wide as its widest cell, and two spaces separate
// columns. Each line starts with indent and has no trailing spaces. A column is left-aligned if
// left returns true for it, and right-aligned otherwise. (text/tabwriter can align all columns only
// to the same side.)
func Align(indent string, rows [][]string, left func(column int) bool) string {
	return AlignPainted(indent, rows, left, func(_, _ int, words string) string { return words })
}

// AlignPainted does the same as Align, and shows each cell as the function `paint` returns it. The
// function must not change the width of the cell on the screen.
func AlignPainted(indent string, rows [][]string, left func(column int) bool, paint func(row, column int, words string) string) string {
	var width []int
	for _, row := range rows {
		for i, text := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(text))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, text := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if i > 0 {
				line.WriteString("  ")
			}
			if painted := paint(n, i, text); left(i) {
				line.WriteString(painted + pad)
			} else {
				line.WriteString(pad + painted)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
