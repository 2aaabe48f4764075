/* See seamark.web.table. Rows that are not on the shown page cost nothing but memory. */
const SHAPES = { ok: "●", bad: "▲", warn: "‖", off: "■", wait: "◌" };
const STATES = {
  RUNNING: "ok", FAILED: "bad", PAUSED: "warn", STOPPED: "off", UNASSIGNED: "wait", RESTARTING: "wait", DESTROYED: "off",
  COMPLETED: "ok", PENDING: "wait", INTERRUPTED: "bad",
};
const full = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function short(value) {
  for (const [size, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size * 0.9995) return few(value / size) + letter;
  }
  return few(value);
}

function few(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 1 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

function textOf(cell) {
  if (cell === null || cell === undefined) return "";
  if (Array.isArray(cell)) return cell.map((each) => each.label ?? each.text ?? each).join(" ");
  if (typeof cell === "object") return `${cell.text ?? ""} ${cell.sub ?? ""}`;
  return String(cell);
}

function sortOf(cell) {
  if (cell === null || cell === undefined) return null;
  if (typeof cell === "object") return cell.sort ?? cell.text ?? null;
  return cell;
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null) return 1; // what is unknown comes last, in either direction
  if (b === null) return -1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function spark(points) {
  const known = points.filter((value) => value !== null);
  if (known.length < 2) return null;
  const highest = Math.max(...known, 1e-9);
  const step = 100 / (points.length - 1);
  let path = "";
  let isDown = false;
  points.forEach((value, index) => {
    if (value === null) {
      isDown = false;
      return;
    }
    path += `${isDown ? "L" : "M"}${(index * step).toFixed(1)} ${(21 - (value / highest) * 19).toFixed(1)}`;
    isDown = true;
  });
  return path;
}

const Cell = {
  props: ["cell", "kind", "row"],
  emits: ["action"],
  computed: {
    value() {
      const cell = this.cell;
      return cell !== null && typeof cell === "object" && !Array.isArray(cell) && this.kind !== "tasks" ? cell : { text: cell };
    },
    text() {
      const text = this.value.text;
      if (text === null || text === undefined || text === "") return "–";
      if (typeof text !== "number") return text;
      return this.kind === "short" || this.kind === "spark" ? short(text) : full.format(text);
    },
    state() {
      return { kind: STATES[this.value.text] ?? this.value.tone ?? "off", text: this.value.text };
    },
    tasks() {
      const found = Object.entries(this.cell ?? {}).filter(([, count]) => count > 0);
      return found.map(([name, count]) => ({ name, count, kind: STATES[name] ?? "wait" }));
    },
    path() {
      return spark(this.value.points ?? []);
    },
  },
  methods: {
    shape: (kind) => SHAPES[kind],
  },
  template: `
    <span v-if="kind === 'state' && cell" :class="['sm-state', 'sm-' + state.kind]" :title="value.title">
      <span aria-hidden="true">{{ shape(state.kind) }}</span>{{ state.text }}</span>
    <span v-else-if="kind === 'tasks'" class="sm-tasks">
      <span v-if="!tasks.length" class="sm-muted">none</span>
      <span v-for="each in tasks" :key="each.name" :class="['sm-task', 'sm-' + each.kind]">
        <span aria-hidden="true">{{ shape(each.kind) }}</span>{{ each.count }}&nbsp;{{ each.name.toLowerCase() }}</span>
    </span>
    <span v-else-if="kind === 'spark'" class="sm-spark" :title="value.title">
      <span class="sm-num">{{ text }}</span>
      <svg viewBox="0 0 100 22" preserveAspectRatio="none" aria-hidden="true"><path v-if="path" :d="path" /></svg>
    </span>
    <span v-else-if="kind === 'actions'" class="sm-cell-actions">
      <button v-for="each in cell || []" :key="each.id" type="button"
        :class="['sm-button', 'sm-small', each.kind ? 'sm-' + each.kind : '']"
        :aria-disabled="each.why_not ? 'true' : null" :title="each.why_not || each.title"
        :aria-label="each.name || (each.label + ' ' + row.id)"
        @click="each.why_not || $emit('action', each.id)">{{ each.label }}</button>
    </span>
    <span v-else :class="['sm-cell', value.tone ? 'sm-tone-' + value.tone : '', kind === 'code' ? 'sm-mono' : '']" :title="value.title">
      <a v-if="value.href" :href="value.href">{{ text }}</a>
      <template v-else>{{ text }}</template>
      <span v-if="value.sub" :class="['sm-sub', value.subtone ? 'sm-tone-' + value.subtone : '']">{{ value.sub }}</span>
    </span>`,
};

export default {
  components: { Cell },
  props: {
    columns: Array, facets: Array, rows: Array, label: String, search: String,
    selectable: Boolean, empty: String, pageSize: Number,
  },
  emits: ["select", "action"],
  data() {
    return {
      all: Vue.markRaw(this.rows),
      wanted: "",
      chosen: {},
      sortKey: null,
      isDown: false,
      page: 0,
      ticked: new Set(),
    };
  },
  computed: {
    words() {
      return this.wanted.toLowerCase().split(/\s+/).filter(Boolean);
    },
    found() {
      const { words, chosen } = this;
      return this.all.filter((row) => {
        for (const [key, value] of Object.entries(chosen)) {
          if (value && String(row.facets?.[key]) !== value) return false;
        }
        if (!words.length) return true;
        const text = this.textOf(row);
        return words.every((word) => text.includes(word));
      });
    },
    sorted() {
      if (this.sortKey === null) return this.found;
      const sign = this.isDown ? -1 : 1;
      const key = this.sortKey;
      return [...this.found].sort((a, b) => {
        const [left, right] = [sortOf(a[key]), sortOf(b[key])];
        if (left === null || right === null) return compare(left, right);
        return sign * compare(left, right);
      });
    },
    pages() {
      return Math.max(1, Math.ceil(this.sorted.length / this.pageSize));
    },
    at() {
      return Math.min(this.page, this.pages - 1);
    },
    shown() {
      return this.sorted.slice(this.at * this.pageSize, (this.at + 1) * this.pageSize);
    },
    range() {
      const first = this.at * this.pageSize;
      return `${full.format(first + 1)}–${full.format(first + this.shown.length)} of ${full.format(this.sorted.length)}`;
    },
    areAllTicked() {
      return this.found.length > 0 && this.found.every((row) => this.ticked.has(row.id));
    },
  },
  methods: {
    textOf(row) {
      // Computed once for each version of a row.
      if (row._text === undefined) {
        const cells = this.columns.map((column) => textOf(row[column.key]));
        Object.defineProperty(row, "_text", { value: [...cells, row.search ?? ""].join(" ").toLowerCase() });
      }
      return row._text;
    },
    patch(changed, order) {
      const known = new Map(this.all.map((row) => [row.id, row]));
      for (const row of changed) known.set(row.id, row);
      const next = order === null ? [...known.values()] : order.map((id) => known.get(id));
      this.all = Vue.markRaw(next);
      if (order !== null && this.ticked.size) {
        const left = new Set(order);
        const still = [...this.ticked].filter((id) => left.has(id));
        if (still.length !== this.ticked.size) this.tick(still);
      }
    },
    choose(facet, value) {
      this.chosen = { ...this.chosen, [facet]: value };
      this.page = 0;
    },
    deselect() {
      this.tick([]);
    },
    tick(ids) {
      this.ticked = new Set(ids);
      this.$emit("select", [...this.ticked]);
    },
    toggle(id) {
      const next = new Set(this.ticked);
      next.has(id) ? next.delete(id) : next.add(id);
      this.tick(next);
    },
    toggleAll() {
      const next = new Set(this.ticked);
      for (const row of this.found) this.areAllTicked ? next.delete(row.id) : next.add(row.id);
      this.tick(next);
    },
    sortBy(column) {
      if (this.sortKey !== column.key) [this.sortKey, this.isDown] = [column.key, column.kind !== "text"];
      else if (this.isDown === (column.kind !== "text")) this.isDown = !this.isDown;
      else this.sortKey = null;
      this.page = 0;
    },
    direction(column) {
      if (this.sortKey !== column.key) return "none";
      return this.isDown ? "descending" : "ascending";
    },
    options(facet) {
      const counts = new Map();
      for (const row of this.all) {
        const value = row.facets?.[facet];
        if (value !== undefined && value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
      }
      const chosen = this.chosen[facet];
      if (chosen && !counts.has(chosen)) counts.set(chosen, 0);
      return [...counts].sort((a, b) => String(a[0]).localeCompare(String(b[0])));
    },
    isNumber: (column) => ["number", "short"].includes(column.kind),
  },
  template: `
  <div class="sm-table">
    <div v-if="search !== null && search !== undefined || facets.length" class="sm-table-tools">
      <input v-if="search !== null && search !== undefined" v-model="wanted" type="search" class="sm-field sm-search" data-search
        :placeholder="search + '   ( / )'" :aria-label="search" @input="page = 0" @keydown.escape="wanted = ''" />
      <label v-for="facet in facets" :key="facet.key" class="sm-choice">
        <span class="sm-hidden">{{ facet.label }}</span>
        <select class="sm-field" :value="chosen[facet.key] ?? ''" @change="choose(facet.key, $event.target.value)">
          <option value="">{{ facet.label }}: all</option>
          <option v-for="[value, count] in options(facet.key)" :key="value" :value="value">{{ value }} ({{ count }})</option>
        </select>
      </label>
      <slot />
    </div>
    <p v-if="!all.length" class="sm-empty">{{ empty }}</p>
    <p v-else-if="!shown.length" class="sm-empty">Nothing matches.
      <button type="button" class="sm-button sm-quiet" @click="wanted = ''; chosen = {}">Show all {{ all.length }}</button></p>
    <div v-else class="sm-table-scroll">
      <table :aria-label="label" :aria-rowcount="sorted.length">
        <thead><tr>
          <th v-if="selectable" scope="col" class="sm-tick"><label><input type="checkbox" :checked="areAllTicked" @change="toggleAll"
            :aria-label="'Select all ' + found.length" /></label></th>
          <th v-for="column in columns" :key="column.key" scope="col" :class="isNumber(column) ? 'sm-right' : ''"
            :aria-sort="column.sortable && column.kind !== 'actions' ? direction(column) : null" :title="column.title">
            <button v-if="column.sortable && column.kind !== 'actions'" type="button" class="sm-sort" @click="sortBy(column)">{{ column.label
              }}<span aria-hidden="true">{{ { none: "", ascending: " ▴", descending: " ▾" }[direction(column)] }}</span></button>
            <span v-else :class="column.kind === 'actions' ? 'sm-hidden' : ''">{{ column.label }}</span>
          </th>
        </tr></thead>
        <tbody>
          <tr v-for="row in shown" :key="row.id" :class="row.tone ? 'sm-row-' + row.tone : ''" :data-id="row.id">
            <td v-if="selectable" class="sm-tick"><label><input type="checkbox" :checked="ticked.has(row.id)" @change="toggle(row.id)"
              :aria-label="'Select ' + row.id" /></label></td>
            <td v-for="column in columns" :key="column.key" :class="isNumber(column) ? 'sm-right sm-num' : ''"
              :data-label="column.kind === 'actions' ? null : column.label" :data-key="column.key">
              <cell :cell="row[column.key]" :kind="column.kind" :row="row" @action="(id) => $emit('action', row.id, id)" /></td>
          </tr>
        </tbody>
      </table>
    </div>
    <div v-if="pages > 1" class="sm-pager" role="navigation" :aria-label="'Pages of ' + label">
      <button type="button" class="sm-button" :aria-disabled="at === 0 ? 'true' : null" @click="page = Math.max(0, at - 1)">Previous</button>
      <span class="sm-num" aria-live="polite">{{ range }}</span>
      <button type="button" class="sm-button" :aria-disabled="at === pages - 1 ? 'true' : null" @click="page = Math.min(pages - 1, at + 1)">Next</button>
    </div>
  </div>`,
};
