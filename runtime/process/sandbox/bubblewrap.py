"""Commands under bubblewrap: namespaces of their own, the file system read-only but for the workspace and a private /tmp."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.process.sandbox.hidden import hidden_places, outermost, readable_tools, within
from runtime.process.sandbox.places import INNER, Places, force_way, lent_mounts, object_folders

FIRST = 'exec 3>&2 2>/dev/null; (exec "$@" 2>&3 3>&-); exit $?'
"""What the first process of the namespace does: it waits, so that the CPU time of all that ran is known at the end. bubblewrap's
own first process would be left behind unwaited for; and a command that is the first itself can't be killed from inside."""
TMP = Path("/tmp")
_TEMPORARY = (TMP, Path("/var/tmp"))


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """One run's sandbox. `options` are what the probe found to work; `home` is looptop's, hidden too."""

    program: str
    options: tuple[str, ...]
    places: Places
    home: Path
    network: bool = False
    read: tuple[Path, ...] = ()

    def wrap(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[list[str], Path, dict[str, str]]:
        """The bwrap call that runs `argv` with the workspace at the repository's path."""
        inner = {**env, "TMPDIR": str(TMP), "XDG_CACHE_HOME": str(TMP / ".cache")}
        args = [self.program, *self.options, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
        args += ["--as-pid-1", "--cap-drop", "ALL"]
        args += [] if self.network else ["--unshare-net"]
        args += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        args += self._hide(env)
        args += ["--bind", str(self.places.tree), str(self.places.root)]
        for source, place in lent_mounts(self.places):
            args += ["--ro-bind", os.path.realpath(source), str(place)]
        mounts, inner["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = self._objects()
        args += mounts
        args += ["--chdir", str(self.shown(cwd)), "--", "/bin/sh", "-c", FIRST, "sh", *argv]
        return args, Path("/"), inner

    def shown(self, path: Path) -> Path:
        """The path by which a command knows a file of the workspace."""
        tree, root = self.places.tree, self.places.root
        return root / path.relative_to(tree) if within(path, (tree,)) else path

    def _hide(self, env: Mapping[str, str]) -> list[str]:
        temporary = tuple(p for p in _TEMPORARY if p.is_dir() and not p.is_symlink())
        hidden = outermost((*hidden_places(env, (self.home,)), *temporary))
        tools = readable_tools(env, hidden, self.read)
        args: list[str] = []
        for place in hidden:
            if place in temporary:
                args += ["--bind", str(self.places.temporary), str(place)]
            else:
                args += ["--tmpfs", str(place)]
        shown = [path for path in tools if not self._of_workspace(path)]
        mounted = [self.places.root, self.places.links, *shown]
        if env.get("HOME", "").startswith("/"):
            mounted.append(Path(env["HOME"]))
        self._make_way(mounted)
        for path in shown:
            args += ["--ro-bind-try", os.path.realpath(path), str(path)]
        if env.get("HOME", "").startswith("/") and within(Path(env["HOME"]), hidden):
            args += ["--dir", env["HOME"]]
        names = Path("/etc/resolv.conf")
        if self.network and within(Path(os.path.realpath(names)), hidden) and names.exists():
            args += ["--ro-bind", os.path.realpath(names), os.path.realpath(names)]
        return args

    def _make_way(self, places: list[Path]) -> None:
        """Make the mount points that lie below a temporary folder, where commands may have left anything."""
        for path in places:
            for temporary in _TEMPORARY:
                if within(path, (temporary,)):
                    force_way(self.places.temporary, self.places.temporary / path.relative_to(temporary))

    def _objects(self) -> tuple[list[str], str]:
        """Mounts of the objects that git borrows, and the list of where: what the workspace covers is shown elsewhere."""
        args, found = [], []
        for number, folder in enumerate(object_folders(self.places.objects)):
            place = INNER / f"objects-{number}" if self._of_workspace(folder) else folder
            self._make_way([place])
            args += ["--ro-bind", str(folder), str(place)]
            found.append(str(place))
        return args, os.pathsep.join(found)

    def _of_workspace(self, path: Path) -> bool:
        """Whether the workspace, or what is lent to it, stands there instead."""
        return within(path, (self.places.root,))

    def describe(self) -> str:
        """One sentence: what is enforced, and what isn't."""
        network = "network allowed (abstract unix sockets too)" if self.network else "no network"
        return (
            f"bubblewrap: writes only to the workspace, mounted at {self.places.root}, and a private /tmp; {network}; "
            "home folders, /run and looptop's own files hidden; the rest of the system can be read, not written; "
            "trial runs of the embedded model are not confined"
        )
