//! The real Claude Code and Codex, as npm installs them, against a model on loopback that plays a script.

mod model;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use self::model::Model;
use super::Scene;
use crate::support::{Told, skip};

/// What is installed. Other versions may behave otherwise.
const PACKAGES: [&str; 2] = ["@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.169.0"];

/// The folder of programs of the packages, which are fetched once; none where they cannot be had.
fn installed() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(install).as_deref()
}

fn install() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let folder = target.canonicalize().ok()?.join("agents");
    let programs = folder.join("node_modules/.bin");
    let noted = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&noted).is_ok_and(|text| text == wanted) {
        return Some(programs);
    }
    std::fs::create_dir_all(&folder).unwrap();
    let mut npm = Command::new("timeout");
    npm.args([
        "300",
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--fetch-retries=1",
    ]);
    let output = npm.arg("--prefix").arg(&folder).args(PACKAGES).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            std::fs::write(noted, wanted).unwrap();
            Some(programs)
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("it said nothing").to_owned();
            skip("agents", &format!("npm did not install the agents: {said}"));
            None
        }
        Err(error) => {
            skip("agents", &format!("npm cannot be started: {error}"));
            None
        }
    }
}

/// A line that tries to change what the agent runs later, and works in the project.
const LINE: &str = "echo evil > ~/FOLDER/SETTINGS; echo evil > \"$REAL/FOLDER/hooks\"; echo mine > made; \
                    cat ~/FOLDER/SETTINGS; echo \"in:$STOCKADE:\"";

/// An agent with a home folder, in the sandbox and without.
struct Run<'a> {
    folder: &'a str,
    settings: &'a str,
    text: String,
    args: &'a [&'a str],
    variables: Vec<(&'a str, String)>,
}

impl Run<'_> {
    fn line(&self) -> String {
        LINE.replace("FOLDER", self.folder).replace("SETTINGS", self.settings)
    }

    /// Starts it, and gives what it printed.
    fn told(&self, scene: &Scene, words: &[&str]) -> Told {
        let (program, rest) = words.split_first().unwrap();
        scene.write(&format!("{}/{}", self.folder, self.settings), &self.text);
        let mut command = scene.command(Path::new(program), &[rest, self.args].concat());
        command.env("REAL", scene.home(""));
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        let told = Told::from(command.output().unwrap());
        assert_eq!(told.code, 0, "{told:?}");
        told
    }

    /// Runs it in the sandbox, where the line changes nothing of the agent's, then without.
    fn hold(&self, program: &Path, model: &Model, port: &str) {
        let scene = Scene::new(false);
        let stockade = scene.project.beside("stockade").display().to_string();
        let program = program.display().to_string();
        let names: Vec<&str> = self.variables.iter().map(|(name, _)| *name).collect();
        let mut words = vec![stockade.as_str(), "enter", "--host-port", port, "--env", "REAL"];
        words.extend(names.iter().flat_map(|name| ["--env", name]));
        words.extend(["--", &program]);
        let told = self.told(&scene, &words);
        let seen = model.seen();
        assert!(
            seen.contains("in:1:") && seen.contains("Read-only file system"),
            "{seen} {told:?}"
        );
        let settings = format!("{}/{}", self.folder, self.settings);
        assert_eq!(scene.read(&settings), self.text, "{told:?}");
        assert!(!scene.home(&format!("{}/hooks", self.folder)).exists());
        assert_eq!(std::fs::read_to_string(scene.project.path("made")).unwrap(), "mine\n");
        // What was said is on this machine, for the agent to go on with.
        let after = scene.snapshot();
        let is_said = |(path, text): (&PathBuf, &String)| {
            path.extension().is_some_and(|end| end == "jsonl") && text.contains("in:1:")
        };
        assert!(after.iter().any(is_said), "{after:?}");
        model.begin_again();
        self.told(&scene, &[&program]);
        assert!(model.seen().contains("in::"), "{}", model.seen());
        assert_eq!(scene.read(&settings), "evil\n", "without the sandbox it is changed");
    }
}

#[test]
fn claude_code_works_in_the_sandbox_and_its_settings_stay() {
    let Some(programs) = installed() else { return };
    let mut run = Run {
        folder: ".claude",
        settings: "settings.json",
        text: "{}\n".to_owned(),
        args: &["-p", "go", "--output-format", "json", "--permission-mode", "bypassPermissions"],
        variables: vec![
            ("ANTHROPIC_API_KEY", "dummy".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            // Without the sandbox root may not work without questions otherwise.
            ("IS_SANDBOX", "1".to_owned()),
        ],
    };
    let model = Model::start(&run.line());
    run.variables.push(("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", model.port())));
    run.hold(&programs.join("claude"), &model, &model.port().to_string());
}

#[test]
fn codex_works_in_the_sandbox_and_its_settings_stay() {
    let Some(programs) = installed() else { return };
    let mut run = Run {
        folder: ".codex",
        settings: "config.toml",
        text: String::new(),
        // Its own sandbox is for machines without this one.
        args: &["exec", "--skip-git-repo-check", "-s", "danger-full-access", "go"],
        variables: vec![("FAKE_KEY", "dummy".to_owned())],
    };
    let model = Model::start(&run.line());
    run.text = format!(
        "model_provider = \"fake\"\nmodel = \"gpt-5\"\n[model_providers.fake]\nname = \"fake\"\n\
         base_url = \"http://127.0.0.1:{}/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n",
        model.port()
    );
    run.hold(&programs.join("codex"), &model, &model.port().to_string());
}
