// metav1.MicroTime: the API server requires exactly six fractional digits.

export function microTime(date: Date = new Date()): string {
  return date.toISOString().replace("Z", "000Z");
}
