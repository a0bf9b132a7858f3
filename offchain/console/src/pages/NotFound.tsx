import { useLocation } from "preact-iso";
import { Heading } from "../components/parts.tsx";

export function NotFound() {
  const { path } = useLocation();
  return (
    <>
      <Heading title="There is no such page" />
      <p>
        <code>{path}</code> is no page of this console. Search for a number, hash, digest or address above, or go to the{" "}
        <a href="/">explorer</a>.
      </p>
    </>
  );
}
