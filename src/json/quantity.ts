// The exact value of a resource quantity, so that "0.5" and "500m" compare as equal. Pure.
import type { Json } from "./types.ts";

/** Billionths are the finest unit that Kubernetes stores. */
type Billionths = bigint;

const FORM = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,2})?$/;

const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Returns undefined for anything that is not a quantity. */
export function quantityValue(quantity: Json | undefined): Billionths | undefined {
  const text = typeof quantity === "number" ? String(quantity) : quantity;
  if (typeof text !== "string") return undefined;
  const [, sign, whole = "", fraction = "", suffix = ""] = FORM.exec(text) ?? [];
  if (sign === undefined || whole + fraction === "") return undefined;
  const digits = BigInt(`${sign === "-" ? "-" : ""}${whole}${fraction}`);
  const binary = BINARY[suffix];
  const exponent = (binary === undefined ? (DECIMAL[suffix] ?? Number(suffix.slice(1))) : 0) + 9 - fraction.length;
  const scaled = binary === undefined ? digits : digits << BigInt(binary);
  return exponent >= 0 ? scaled * 10n ** BigInt(exponent) : roundUp(scaled, 10n ** BigInt(-exponent));
}

/** Kubernetes rounds anything finer than a billionth up. */
function roundUp(value: bigint, unit: bigint): bigint {
  const quotient = value / unit;
  return value % unit > 0n ? quotient + 1n : quotient;
}
