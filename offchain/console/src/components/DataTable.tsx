/** Tables of rows: headers that stay visible, sorting by links, pages by cursors. */

import type { ComponentChildren } from "preact";
import type { Loaded } from "../api/hooks.ts";
import type { Page } from "../api/types.ts";
import { Icon } from "./Icon.tsx";
import { Empty, Load } from "./loading.tsx";

export interface Column<R> {
  title: string;
  cell: (row: R) => ComponentChildren;
  right?: boolean;
  /** Left out on narrow screens. */
  minor?: boolean;
  /** Where the column's header leads, to sort by it. */
  sortHref?: string;
  sorted?: "ascending" | "descending";
}

interface TableProps<R> {
  label: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  keyOf: (row: R) => string | number;
}

export function DataTable<R>(props: TableProps<R>) {
  return (
    <div class="table-wrap" role="region" aria-label={props.label} tabIndex={0}>
      <table>
        <caption class="hidden-visually">{props.label}</caption>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th key={column.title} scope="col" class={classes(column)} aria-sort={column.sorted}>
                {column.sortHref === undefined ? (
                  column.title
                ) : (
                  <a href={column.sortHref}>
                    {column.title} {column.sorted && <Icon name={column.sorted === "ascending" ? "up" : "down"} />}
                  </a>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={props.keyOf(row)}>
              {props.columns.map((column) => (
                <td key={column.title} class={classes(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classes<R>(column: Column<R>): string {
  return `${column.right === true ? "right" : ""} ${column.minor === true ? "minor" : ""}`.trim();
}

interface PageTableProps<R> extends Omit<TableProps<R>, "rows"> {
  of: Loaded<Page<R>>;
  /** What the rows are, for "Loading …". */
  what: string;
  empty: ComponentChildren;
  /** The URL of the page after a cursor; "" for the first. */
  pageHref?: (after: string) => string;
  isFirst?: boolean;
}

/** One page of an API list, with links to the next page and to the first. */
export function PageTable<R>(props: PageTableProps<R>) {
  return (
    <Load of={props.of} what={props.what}>
      {(page) => (
        <>
          {page.data.length === 0 ? <Empty>{props.empty}</Empty> : <DataTable {...props} rows={page.data} />}
          {props.pageHref !== undefined && (page.next !== null || props.isFirst === false) && (
            <nav class="row pager" aria-label={`Pages of ${props.what}`}>
              {props.isFirst === false && (
                <a class="button" href={props.pageHref("")}>
                  First page
                </a>
              )}
              {page.next !== null && (
                <a class="button" href={props.pageHref(page.next)}>
                  Next page
                </a>
              )}
            </nav>
          )}
        </>
      )}
    </Load>
  );
}
