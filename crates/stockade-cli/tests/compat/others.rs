//! Programs that not every machine has: each runs where it is found, and is named where it is not.

use crate::support::{as_everybody, has};

struct Other {
    program: &'static str,
    file: &'static str,
    text: &'static str,
    argv: &'static [&'static str],
    told: &'static str,
}

const fn other(
    program: &'static str,
    file: &'static str,
    text: &'static str,
    argv: &'static [&'static str],
    told: &'static str,
) -> Other {
    Other { program, file, text, argv, told }
}

const OTHERS: &[Other] = &[
    other(
        "sqlite3",
        "work.sql",
        "create table t (a); insert into t values (20), (22); select sum(a) from t;\n",
        &["sqlite3", "data.db", ".read work.sql"],
        "42\n",
    ),
    other(
        "java",
        "Work.java",
        "class Work { public static void main(String[] a) throws Exception {\n\
         Thread t = new Thread(() -> System.out.println(6 * 7)); t.start(); t.join(); } }\n",
        &["java", "-Xmx256m", "Work.java"],
        "42\n",
    ),
    other("ruby", "work.rb", "puts Thread.new { 6 * 7 }.value\n", &["ruby", "work.rb"], "42\n"),
    other("php", "work.php", "<?php echo 6 * 7, \"\\n\";\n", &["php", "work.php"], "42\n"),
    other("lua", "work.lua", "print(6 * 7)\n", &["lua", "work.lua"], "42\n"),
    other(
        "go",
        "work.go",
        "package main\nfunc main() { println(6 * 7) }\n",
        &["go", "run", "work.go"],
        "",
    ),
    other("deno", "work.ts", "console.log(6 * 7)\n", &["deno", "run", "work.ts"], "42\n"),
    other("bun", "work.ts", "console.log(6 * 7)\n", &["bun", "run", "work.ts"], "42\n"),
    other("awk", "work.awk", "BEGIN { print 6 * 7 }\n", &["awk", "-f", "work.awk"], "42\n"),
    other("tar", "work.txt", "x\n", &["tar", "-cf", "work.tar", "work.txt"], ""),
    other("clang", "work.c", "int main(void) { return 0; }\n", &["clang", "work.c"], ""),
    other("cmake", "work.cmake", "message(NOTICE \"42\")\n", &["cmake", "-P", "work.cmake"], ""),
    other("busybox", "work.sh", "echo $((6 * 7))\n", &["busybox", "sh", "work.sh"], "42\n"),
];

#[test]
fn others_run_where_they_are_found() {
    let found: Vec<&Other> = OTHERS.iter().filter(|other| has(other.program)).collect();
    as_everybody(|somebody| {
        for other in &found {
            somebody.write(other.file, other.text);
            let args = [&["--profile", "contained", "--memory", "4G", "--"], other.argv].concat();
            let told = somebody.boxed(&args);
            assert_eq!(told, other.told, "{:?}: {}", somebody.who, other.program);
        }
    });
}
