/** Offers bytes to the person as a file. */
export function saveFile(name: string, parts: readonly BlobPart[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the bytes after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
