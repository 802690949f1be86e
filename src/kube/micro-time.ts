// metav1.MicroTime: the API server refuses anything but exactly six fractional digits.

export function microTime(date: Date = new Date()): string {
  return date.toISOString().replace("Z", "000Z");
}
