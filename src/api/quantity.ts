// Kubernetes resource quantities ("100m", "64Mi"), as far as a mistyped one must be caught before a Pod is refused for it.

const QUANTITY = /^\d+(?:\.\d+)?(?:m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;

export function isQuantity(text: string): boolean {
  return QUANTITY.test(text);
}
