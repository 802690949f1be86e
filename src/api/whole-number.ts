/** A whole number as an annotation states it: digits only, at most Kubernetes' int32. */
export function readWholeNumber(text: string): number | undefined {
  if (!/^\d{1,10}$/.test(text)) return undefined;
  const value = Number(text);
  return value <= 2_147_483_647 ? value : undefined;
}
