/** Icons as paths in a square of 16; lines, unless they are filled. Text always stands beside them, or in their label. */

interface IconShape {
  path: string;
  filled?: boolean;
}

const CIRCLE = "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z";

export const ICONS = {
  waiting: { path: "M8 2v2M8 12v2M2 8h2M12 8h2M3.8 3.8l1.4 1.4M10.8 10.8l1.4 1.4M12.2 3.8l-1.4 1.4M5.2 10.8l-1.4 1.4" },
  progress: { path: `${CIRCLE}M8 4.5V8h3` },
  running: { path: "M4 2.5v11L13.5 8Z", filled: true },
  reported: { path: "M4 1.5h5.5L12.5 5v9.5h-8.5ZM6 8h4.5M6 11h4.5" },
  done: { path: "M2.5 8.5l3.5 3.5 7.5-8.5" },
  flag: { path: "M3.5 14.5v-13M3.5 2.5h9l-2 3 2 3h-9" },
  expired: { path: "M4 1.5h8M4 14.5h8M5 1.5c0 4 6 5 6 13M11 1.5c0 4-6 5-6 13" },
  cancelled: { path: `${CIRCLE}M4 12l8-8` },
  failed: { path: "M3.5 3.5l9 9M12.5 3.5l-9 9" },
  dot: { path: "M10 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0Z", filled: true },
  paused: { path: "M5 3v10M11 3v10" },
  ended: { path: "M3.5 3.5h9v9h-9Z", filled: true },
  data: { path: "M3 3.5h10v9H3ZM3 6.5h10M3 9.5h10" },
  gone: { path: "M3.5 3.5h9v9h-9Z" },
  online: { path: CIRCLE, filled: true },
  half: { path: "M8 2a6 6 0 1 0 0 12ZM8 2a6 6 0 0 1 0 12" },
  free: { path: CIRCLE },
  question: { path: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.6 8 9 8 10M8 12.8v.400" },
  simulated: { path: "M1.5 6c2-2.5 4-2.5 6.5 0s4.5 2.5 6.5 0M1.5 11c2-2.5 4-2.5 6.5 0s4.5 2.5 6.5 0" },
  copy: { path: "M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3" },
  sun: {
    path: "M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  },
  moon: { path: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z" },
  up: { path: "M3 11l5-6 5 6Z", filled: true },
  down: { path: "M3 5l5 6 5-6Z", filled: true },
} as const satisfies Readonly<Record<string, IconShape>>;

export type IconName = keyof typeof ICONS;

export function shapeOf(name: IconName): IconShape {
  return ICONS[name];
}
