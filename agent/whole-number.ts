/**
 * Parses a whole number of digits only. The agent uses no regular expressions: their engine costs half a MiB in every
 * Pod.
 */
export function wholeNumber(text: string, radix: 10 | 16 = 10): number | undefined {
  const digits = Array.from(text.toLowerCase(), (digit) => "0123456789abcdef".indexOf(digit));
  if (digits.length === 0 || digits.length > 12 || digits.some((digit) => digit < 0 || digit >= radix))
    return undefined;
  return digits.reduce((sum, digit) => sum * radix + digit, 0);
}
