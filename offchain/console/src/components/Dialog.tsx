import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** A modal dialog: it holds the focus, and Escape closes it. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="dialog stack" ref={dialog} aria-labelledby={title} onClose={props.onClose}>
      <h2 id={title}>{props.title}</h2>
      {props.children}
    </dialog>
  );
}
