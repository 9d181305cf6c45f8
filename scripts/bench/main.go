// Bench measures what one post costs as a process of its own, ccpost's and what
// people write instead, and puts the table and a plot into the README.
//
//	go run ./scripts/bench [-n STARTS] [-readme FILE] [-plot FILE] [-also NAME=CCPOST]...
//
// Run it in the root of the checkout. It builds ccpost with scripts/build, starts
// five stand-in sessions, processes of their own, with their records in an empty
// HOME, and then every poster STARTS times: one after the other, in rounds of one
// start each, in a new random order every round, so that whatever else the machine
// does falls on all alike. A poster whose tool is missing is left out, by name.
//
// Contract: a figure stands in the table only if every start of its poster exited
// with 0 and the session that it posts to took exactly as many messages. Wall time
// is from before fork to after wait4, by a harness without garbage collection,
// whose own share is in the time of a program that does nothing. Peak memory and
// the times of large events come from starts of their own, which nothing is timed
// beside. With -also other builds of ccpost are measured in the same run, for the
// screen alone; -readme "" and -plot "" write nothing.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"ccpost/scripts/readme"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == standinArg {
		exit(standin(os.Args[2]))
	}
	var b bench
	flag.IntVar(&b.starts, "n", 400, "starts of each poster")
	file := flag.String("readme", "README.md", "the file with the table")
	plotFile := flag.String("plot", "scripts/bench/bench.svg", "the plot")
	flag.Func("also", "another build of ccpost, as NAME=PATH; may be repeated", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("NAME=PATH is wanted")
		}
		b.also = append(b.also, build{name, path})
		return nil
	})
	flag.Parse()
	debug.SetGCPercent(-1)
	exit(run(&b, *file, *plotFile))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

func run(b *bench, file, plotFile string) error {
	if b.starts < 1 {
		return errors.New("-n is 1 or more")
	}
	var before, after string
	if file != "" {
		var err error
		if before, _, after, err = readme.Section(file, "bench"); err != nil {
			return err
		}
	}
	r, err := b.run()
	if err != nil {
		return err
	}
	table := r.table()
	fmt.Print(table)
	if file != "" {
		if err := os.WriteFile(file, []byte(before+table+after), 0o644); err != nil {
			return err
		}
	}
	if plotFile != "" {
		return os.WriteFile(plotFile, []byte(r.plot()), 0o644)
	}
	return nil
}
