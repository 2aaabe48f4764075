"""The configuration of a connector: filled in, judged by the worker while it is typed, compared, and saved."""

from __future__ import annotations

from seamark.client import ClientError
from seamark.web import forms
from seamark.web.dialogs import ask_changes
from seamark.web.figures import count
from seamark.web.form_view import FormView
from seamark.web.session import Session
from seamark.web.widgets import button, disable, notice, set_text, tag


class ConfigTab:
    """The form with what saves it. Only what was changed is sent, so that others' changes are kept."""

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._why_not = session.why_not("editor")
        self._form: FormView | None = None

    async def build(self) -> None:
        """Build it in the present slot."""
        self._whole = tag("div")
        await self._rebuild()

    async def _rebuild(self) -> None:
        self._whole.clear()
        try:
            config = await self._session.client.config(self._name)
        except ClientError as error:
            with self._whole:
                notice(str(error), "bad")
            return
        with self._whole:
            if self._why_not:
                notice(self._why_not, "off")
            self._form = FormView(self._session, config, why_not=self._why_not, on_change=self._changed)
            with tag("div", classes="sm-savebar", role="region", aria_label="Changes"):
                self._count = tag("span", "No changes", "sm-grow", role="status")
                self._discard = button("Discard", self._rebuild, kind="quiet")
                self._save = button("Review and save", self._review, kind="primary", needs="editor")
        await self._form.load()
        self._changed()

    def _changed(self) -> None:
        form = self._form
        if form is None:
            return
        many, wrong = len(form.changes), len(form.errors)
        text = count(many, "change") if many else "No changes"
        if wrong or form.problem:
            text += f", {count(wrong, 'key')} with errors" if wrong else ", refused by the worker"
        set_text(self._count, text)
        disable(self._discard, None if many else "There are no changes")
        if self._why_not is None:
            disable(self._save, self._why_not_save(form, many))

    def _why_not_save(self, form: FormView, many: int) -> str | None:
        if not many:
            return "There are no changes"
        if form.problem:
            return form.problem
        if form.errors:
            return "The worker refuses it: " + "; ".join(sorted(form.errors))
        return None

    async def _review(self) -> None:
        form = self._form
        if form is None:
            return
        wanted = form.config
        patch = {
            name: wanted.get(name)
            for name in {*form.before, *wanted}
            if (name in form.before) != (name in wanted) or form.before.get(name) != wanted.get(name)
        }
        try:
            present = await self._session.client.config(self._name)
        except ClientError as error:
            self._session.say(str(error), is_bad=True)
            return
        after = {name: value for name, value in {**present, **patch}.items() if value is not None}
        changes = forms.changes_of(present, after, form.secrets)
        say = "It is restarted with the new configuration, and goes on where it was."
        if present != form.before:
            say = f"Somebody else has changed it meanwhile: that is kept, yours is added. {say}"

        async def save() -> None:
            await self._session.client.patch_config(self._name, patch)

        if await ask_changes(f"Save {self._name}?", say, changes, "Save", save):
            self._session.say(f"{self._name} is saved")
            await self._rebuild()
