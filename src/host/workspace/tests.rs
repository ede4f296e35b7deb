//! Paths against a real folder with real links, pipes and devices.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use crate::engine::digest::Digest;

use super::*;

/// A workspace `w` beside a file `secret` that must stay out of reach.
fn workspace() -> (TempDir, Workspace) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("w")).expect("a root");
    fs::write(folder.path().join("secret"), "secret").expect("a file outside");
    let workspace = Workspace::open(&folder.path().join("w")).expect("a workspace");
    (folder, workspace)
}

fn text(mut file: File) -> String {
    let mut text = String::new();
    file.read_to_string(&mut text).expect("text");
    text
}

#[test]
fn a_file_is_read_by_a_relative_an_absolute_and_a_winding_path() {
    let (_folder, workspace) = workspace();
    fs::create_dir(workspace.root().join("a")).expect("a folder");
    fs::write(workspace.root().join("a/b.txt"), "b").expect("a file");
    let absolute = workspace.root().join("a/b.txt");
    for path in [
        "a/b.txt",
        "./a/../a/b.txt",
        absolute.to_str().expect("utf-8"),
    ] {
        assert_eq!(text(workspace.open_file(path).expect(path)), "b");
    }
}

// M7
#[test]
fn a_path_outside_is_refused_whether_or_not_it_exists() {
    let (_folder, workspace) = workspace();
    for path in [
        "../secret",
        "../absent",
        "../absent/deeper",
        "/etc/passwd",
        "..",
        "/",
    ] {
        let refused = workspace.open_file(path).expect_err(path);
        assert!(matches!(refused, WorkspaceError::Outside(_)), "{refused}");
        let refused = workspace.target(path).expect_err(path);
        assert!(matches!(refused, WorkspaceError::Outside(_)), "{refused}");
    }
    assert!(!workspace.root().join("../absent").exists());
}

// M7
#[test]
fn a_sibling_whose_name_begins_like_the_root_is_outside() {
    let (folder, workspace) = workspace();
    fs::create_dir(folder.path().join("w2")).expect("a sibling");
    fs::write(folder.path().join("w2/x"), "x").expect("a file");
    assert!(matches!(
        workspace.open_file("../w2/x"),
        Err(WorkspaceError::Outside(_))
    ));
}

// M7
#[test]
fn links_are_followed_inside_and_refused_where_they_lead_outside() {
    let (folder, workspace) = workspace();
    let root = workspace.root();
    fs::write(root.join("real"), "real").expect("a file");
    symlink("real", root.join("inner")).expect("a link");
    symlink(folder.path(), root.join("outer")).expect("a link");
    symlink("../secret", root.join("file_out")).expect("a link");
    symlink("../not-yet", root.join("dangling")).expect("a link");
    symlink("loop", root.join("loop")).expect("a link");
    assert_eq!(text(workspace.open_file("inner").expect("inside")), "real");
    for path in ["outer/secret", "outer/new", "file_out", "outer/w/../secret"] {
        assert!(
            matches!(workspace.target(path), Err(WorkspaceError::Outside(_))),
            "{path}"
        );
    }
    for path in ["dangling", "loop"] {
        assert!(workspace.target(path).is_err(), "{path}");
        assert!(workspace.open_file(path).is_err(), "{path}");
    }
    assert!(!folder.path().join("not-yet").exists());
    assert!(!folder.path().join("new").exists());
    assert!(workspace.open_file("outer/w/real").is_ok(), "back inside");
}

// M7: the component walk itself, as if a folder was swapped for a link after it was resolved.
#[test]
fn a_folder_that_turns_into_a_link_is_not_followed() {
    let (folder, workspace) = workspace();
    symlink(folder.path(), workspace.root().join("swapped")).expect("a link");
    assert!(open::folder(&workspace.handle, &["swapped".into()]).is_err());
    assert!(open::made_folder(&workspace.handle, &["swapped".into()], 0).is_err());
    let parent = open::folder(&workspace.handle, &[]).expect("the root");
    symlink("../secret", workspace.root().join("late")).expect("a link");
    assert!(matches!(
        open::file(&parent, "late".as_ref(), "late"),
        Err(WorkspaceError::BadLink(_))
    ));
}

// M7
#[test]
fn pipes_devices_and_folders_are_refused_without_blocking() {
    let (_folder, workspace) = workspace();
    let pipe = workspace.root().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    fs::create_dir(workspace.root().join("folder")).expect("a folder");
    for path in ["pipe", "folder", "."] {
        assert!(
            matches!(
                workspace.open_file(path),
                Err(WorkspaceError::NotAFile { .. })
            ),
            "{path}"
        );
        assert!(
            matches!(workspace.target(path), Err(WorkspaceError::NotAFile { .. })),
            "{path}"
        );
    }
    let devices = Workspace::open(Path::new("/dev")).expect("a workspace");
    assert!(matches!(
        devices.open_file("null"),
        Err(WorkspaceError::NotAFile {
            kind: "a device",
            ..
        })
    ));
}

#[test]
fn what_is_no_path_is_refused() {
    let (_folder, workspace) = workspace();
    for path in ["", "a\0b"] {
        assert!(matches!(
            workspace.open_file(path),
            Err(WorkspaceError::NotAPath(_))
        ));
    }
    fs::write(workspace.root().join("file"), "").expect("a file");
    assert!(workspace.open_file("file/below").is_err());
    assert!(workspace.target("file/below").is_err());
    assert!(matches!(
        workspace.target("new/../../secret"),
        Err(WorkspaceError::Absent(_))
    ));
}

#[test]
fn replacing_keeps_the_mode_and_leaves_nothing_beside_the_file() {
    let (_folder, workspace) = workspace();
    let script = workspace.root().join("script");
    fs::write(&script, "old and longer").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).expect("a mode");
    let written = workspace
        .target("script")
        .and_then(|target| target.replace(b"new"))
        .expect("written");
    assert_eq!((written.bytes, written.sha256), (3, Digest::of(b"new")));
    assert_eq!(fs::read(&script).expect("content"), b"new");
    let mode = fs::metadata(&script)
        .expect("metadata")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o750);
    assert_eq!(fs::read_dir(workspace.root()).expect("entries").count(), 1);
}

#[test]
fn missing_folders_are_made_below_the_root() {
    let (_folder, workspace) = workspace();
    let target = workspace.target("a/b/notes.md").expect("a target");
    target.replace(b"x").expect("written");
    assert!(workspace.root().join("a/b/notes.md").is_file());
}

#[test]
fn creating_refuses_what_exists_and_appending_tells_of_the_whole_file() {
    let (_folder, workspace) = workspace();
    let target = |path| workspace.target(path).expect("a target");
    target("log").create(b"one ").expect("created");
    assert!(matches!(
        target("log").create(b"again"),
        Err(WorkspaceError::Exists(_))
    ));
    let written = target("log").append(b"two").expect("appended");
    assert_eq!((written.bytes, written.sha256), (7, Digest::of(b"one two")));
    assert_eq!(target("fresh").append(b"a").expect("made").bytes, 1);
}
