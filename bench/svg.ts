// The few SVG elements that the pictures of measurements need.

export const WIDTH = 860;
export const COLOUR = {
  running: "#2da44e",
  down: "#cf222e",
  waiting: "#d4a72c",
  text: "#24292f",
  faint: "#8c959f",
} as const;

export function svg(height: number, parts: readonly string[], title: string): string {
  const size = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" rx="6" fill="#ffffff"/>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

export function text(x: number, y: number, content: string, { bold = false, anchor = "start" } = {}): string {
  const weight = bold ? ' font-weight="bold"' : "";
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}"${weight} fill="${COLOUR.text}">${content}</text>`;
}

export function rectangle(x: number, y: number, width: number, height: number, color: string): string {
  return `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="2" fill="${color}"/>`;
}

export function circle(x: number, y: number, color: string = COLOUR.running, opacity = 0.6): string {
  return `<circle cx="${x.toFixed(1)}" cy="${y}" r="3.5" fill="${color}" fill-opacity="${opacity}"/>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, color: string, dashes = ""): string {
  const style = dashes === "" ? "" : ` stroke-dasharray="${dashes}"`;
  return `<line x1="${x1.toFixed(1)}" y1="${y1}" x2="${x2.toFixed(1)}" y2="${y2}" stroke="${color}"${style}/>`;
}
