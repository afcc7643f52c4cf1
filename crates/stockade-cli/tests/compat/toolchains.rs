//! Toolchains and caches of the home folder: to be read, never to be changed, without credentials.

use std::fs;

use crate::support::{Somebody, as_everybody, has};

const FILES: [(&str, &str); 8] = [
    (".cargo/bin/tool", "#!/bin/sh\necho from the toolchain\n"),
    (".cargo/registry/cache/host/part-1.0.0.crate", "a crate\n"),
    (".cargo/credentials.toml", "token = \"secret\"\n"),
    (".cargo/config.toml", "token = \"secret\"\n"),
    (".rustup/settings.toml", "version = \"12\"\n"),
    (".npm/_cacache/content-v2/x", "content\n"),
    (".npmrc", "_authToken=secret\n"),
    (".pyenv/shims/shim", "#!/bin/sh\necho from a shim\n"),
];

fn furnish(somebody: &Somebody) {
    use std::os::unix::fs::PermissionsExt as _;
    for (name, text) in FILES {
        let path = somebody.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        for made in path.ancestors().take_while(|above| *above != somebody.home()) {
            somebody.give(made);
        }
    }
}

const ALL: [&str; 6] = ["--toolchain", "rust", "--toolchain", "node", "--toolchain", "python"];

/// Every way to change a cache, by its own path and by the one that tools use.
const POISON: &str = "
for home in \"$1\" \"$HOME\"; do
  echo evil >> $home/.cargo/registry/cache/host/part-1.0.0.crate && echo appended
  echo evil > $home/.cargo/bin/tool && echo replaced
  echo evil > $home/.cargo/bin/new && echo added
  mv $home/.rustup/settings.toml $home/.rustup/old && echo moved
  rm -f $home/.npm/_cacache/content-v2/x && echo removed
  ln -sf /bin/true $home/.pyenv/shims/shim && echo linked
  chmod 777 $home/.pyenv/shims && echo opened
done 2>/dev/null
true
";

#[test]
fn no_cache_can_be_changed_and_outside_of_the_box_it_can() {
    as_everybody(|somebody| {
        furnish(somebody);
        somebody.write("poison.sh", POISON);
        let home = somebody.home().to_str().unwrap().to_owned();
        let args = [&ALL, ["--profile", "contained", "--", "bash", "poison.sh", &home].as_slice()]
            .concat();
        // The links in the box's own home are the box's own, and go with it.
        let told = somebody.boxed(&args);
        assert_eq!(told, "moved\n", "only such a link: {:?}", somebody.who);
        for (name, text) in FILES {
            let now = fs::read_to_string(somebody.home().join(name)).unwrap();
            assert_eq!(now, text, "{name}");
        }
        assert!(!somebody.home().join(".cargo/bin/new").exists());
        let told = somebody.control(&format!("bash poison.sh {home}"));
        assert!(told.starts_with("appended\nreplaced\nadded\nmoved\nremoved\nlinked\n"), "{told}");
    });
}

#[test]
fn tools_find_their_caches_and_no_credentials() {
    as_everybody(|somebody| {
        furnish(somebody);
        somebody.write(
            "look.sh",
            "cat $HOME/.cargo/registry/cache/*/*.crate $HOME/.npm/_cacache/content-v2/x
             tool; shim; echo mine > $HOME/.cargo/.package-cache && echo written
             cat $1/.cargo/*.toml $1/.npmrc $HOME/.cargo/*.toml $HOME/.npmrc; ls -A $1 | tr '\\n' ' '\n",
        );
        let home = somebody.home().to_str().unwrap().to_owned();
        let args =
            [&ALL, ["--profile", "contained", "--", "bash", "look.sh", &home].as_slice()].concat();
        let told = somebody.boxed(&args);
        let expected = "a crate\ncontent\nfrom the toolchain\nfrom a shim\nwritten\n.cargo .npm .pyenv .rustup ";
        assert_eq!(told, expected, "{:?}", somebody.who);
        let report = somebody.stockade(&[&ALL, ["--", "tool"].as_slice()].concat());
        assert_eq!(report["stdout"], "from the toolchain\n", "{report}");
        // Nothing of a home is there unless it was asked for, and the failure says how to ask.
        let report = somebody.stockade(&["--profile", "contained", "--", "bash", "look.sh", &home]);
        assert_eq!(report["stdout"], "", "{report}");
        let report = somebody.stockade(&["--", "tool"]);
        assert_eq!(report["exit_code"], 127, "{report}");
        let remedy = report["failure"]["remedy"].as_str().unwrap();
        assert!(remedy.contains("--toolchain rust"), "{report}");
    });
}

#[test]
fn npm_installs_from_its_cache_with_the_network_off() {
    if !has("node") || !has("npm") {
        return;
    }
    as_everybody(|somebody| {
        somebody
            .write("registry/package/package.json", "{\"name\":\"part\",\"version\":\"1.0.0\"}");
        somebody.write("registry/package/index.js", "module.exports = () => 42;\n");
        somebody.write("registry/serve.js", SERVE);
        let manifest =
            "{\"name\":\"own\",\"version\":\"1.0.0\",\"dependencies\":{\"part\":\"1.0.0\"}}";
        somebody.write("package.json", manifest);
        somebody.write("work.js", "console.log(require('part')());\n");
        // Outside, a registry on loopback fills the cache.
        somebody.control(
            "tar -C registry -czf registry/part.tgz package
             node registry/serve.js & server=$!
             until [ -s registry/port ]; do sleep 0.05; done
             npm install --no-audit --no-fund --registry http://127.0.0.1:$(cat registry/port)/ >&2
             kill $server; rm -r node_modules",
        );
        let install = ["--toolchain", "node", "--", "npm", "ci", "--offline", "--no-audit"];
        somebody.boxed(&install);
        assert_eq!(somebody.boxed(&["--", "node", "work.js"]), "42\n", "{:?}", somebody.who);
        fs::remove_dir_all(somebody.path("node_modules")).unwrap();
        let report = somebody.stockade(install.get(2..).unwrap());
        assert_eq!(report["ok"], false, "without the cache there is nothing to install: {report}");
    });
}

const SERVE: &str = r"
const http = require('http'), fs = require('fs'), crypto = require('crypto');
const packed = fs.readFileSync('registry/part.tgz');
const integrity = 'sha512-' + crypto.createHash('sha512').update(packed).digest('base64');
const server = http.createServer((asked, answer) => {
  if (asked.url.endsWith('.tgz')) return answer.end(packed);
  if (asked.url !== '/part') { answer.statusCode = 404; return answer.end('{}'); }
  const tarball = `http://127.0.0.1:${server.address().port}/part/-/part-1.0.0.tgz`;
  const version = { name: 'part', version: '1.0.0', dist: { tarball, integrity } };
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ name: 'part', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
});
server.listen(0, '127.0.0.1', () => fs.writeFileSync('registry/port', String(server.address().port)));
";

#[test]
fn a_home_that_is_the_project_does_not_open_the_caches() {
    as_everybody(|somebody| {
        furnish(somebody);
        let poison = somebody.home().join("poison.sh");
        fs::write(
            &poison,
            format!("{POISON}mv \"$1/.cargo\" \"$1/aside\" 2>/dev/null && echo aside\ntrue\n"),
        )
        .unwrap();
        somebody.give(&poison);
        let home = somebody.home().to_str().unwrap().to_owned();
        let policy = somebody.home().join("own.toml");
        fs::write(&policy, "[project]\nhome = true\n").unwrap();
        somebody.give(&policy);
        let policy = policy.to_str().unwrap();
        let root = ["--policy", policy, "--root", &home, "--", "bash", "poison.sh", &home];
        let told = somebody.boxed(&[&ALL, root.as_slice()].concat());
        assert_eq!(told, "moved\n", "{:?}", somebody.who);
        let cached =
            fs::read_to_string(home.clone() + "/.cargo/registry/cache/host/part-1.0.0.crate");
        assert_eq!(cached.unwrap(), "a crate\n");
        assert!(!somebody.home().join(".cargo/bin/new").exists());
    });
}
