"use strict";
// A table of any length: only the rows in view are elements. Columns: {name, title, legend, width in rem, share
// of the room that is left, cell(row), hover(row)}.

const ROW_HEIGHT = 30;

class LongTable {
  constructor({columns, rows, sort, name, onSort, onOpen, linkOf}) {
    Object.assign(this, {columns, rows, sort, onSort, onOpen, linkOf});
    this.at = 0;
    // Fixed widths, so that every line has the same columns; the wide ones share what room is left.
    const template = columns.map((column) => column.share ? "minmax(" + column.width + "rem, " + column.share + "fr)" :
      column.width + "rem").join(" ");
    const least = columns.reduce((sum, column) => sum + column.width, 0) + "rem";
    this.head = el("div.long-head", {role: "row", style: {gridTemplateColumns: template, minWidth: least}},
      columns.map((column) => this.headCell(column)));
    this.body = el("div.long-body", {role: "rowgroup", style: {minWidth: least}});
    this.view = el("div.long-view", {tabindex: 0, role: "grid", "aria-label": name, "aria-rowcount": rows.length + 1,
      on: {scroll: () => this.draw(), keydown: (event) => this.key(event)}}, this.head, this.body);
    this.element = el("div.long", null, this.view);
    this.template = template;
    this.setRows(rows);
    new ResizeObserver(() => this.draw()).observe(this.view);
  }
  headCell(column) {
    const mark = this.sort === column.name ? " ▲" : this.sort === "-" + column.name ? " ▼" : "";
    const button = el("button", {type: "button", legend: column.legend, on: {click: () => {
      this.onSort(this.sort === column.name ? "-" + column.name : column.name);
    }}}, column.title, mark);
    return el("div", {role: "columnheader", class: column.number ? "number" : "",
      "aria-sort": mark === "" ? "none" : this.sort[0] === "-" ? "descending" : "ascending"}, button);
  }
  setRows(rows) {
    this.rows = rows;
    this.at = Math.min(this.at, Math.max(0, rows.length - 1));
    this.body.style.height = rows.length * ROW_HEIGHT + "px";
    this.view.setAttribute("aria-rowcount", rows.length + 1);
    this.drawn = null;
    this.draw();
  }
  draw() {
    const height = this.view.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.view.scrollTop / ROW_HEIGHT) - 8);
    const last = Math.min(this.rows.length, first + Math.ceil(height / ROW_HEIGHT) + 16);
    const key = first + ":" + last + ":" + this.at;
    if (key === this.drawn) return;
    this.drawn = key;
    const lines = [];
    for (let i = first; i < last; ++i) lines.push(this.line(i));
    this.body.replaceChildren(...lines);
  }
  line(i) {
    const row = this.rows[i];
    return el("a.long-row", {role: "row", "aria-rowindex": i + 2, link: this.linkOf(row), tabindex: -1,
      class: i === this.at ? "long-row here" : "long-row", id: i === this.at ? "here" : null,
      style: {gridTemplateColumns: this.template, top: i * ROW_HEIGHT + "px"}},
    this.columns.map((column) => el("span", {role: "gridcell", class: column.number ? "number" : "",
      legend: column.hover ? null : column.legend, tip: column.hover ? column.hover(row) : null}, column.cell(row))));
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW_HEIGHT) - 2);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (event.target !== this.view) return;
    if (event.key === "Enter" && this.rows.length) {
      location.hash = this.linkOf(this.rows[this.at]);
    } else if (event.key in steps) {
      this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + steps[event.key]));
      const top = this.at * ROW_HEIGHT, view = this.view;
      const room = view.clientHeight - this.head.offsetHeight - ROW_HEIGHT;
      if (top < view.scrollTop) view.scrollTop = top;
      else if (top > view.scrollTop + room) view.scrollTop = top - room;
      this.view.setAttribute("aria-activedescendant", "here");
      this.draw();
    } else return;
    event.preventDefault();
  }
}
