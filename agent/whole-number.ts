/**
 * A whole number that is written with nothing but digits. Nothing in the agent uses regular expressions, whose engine takes half a
 * MiB of every Pod.
 */
export function wholeNumber(text: string, radix: 10 | 16 = 10): number | undefined {
  const digits = Array.from(text.toLowerCase(), (digit) => "0123456789abcdef".indexOf(digit));
  if (digits.length === 0 || digits.length > 12 || digits.some((digit) => digit < 0 || digit >= radix))
    return undefined;
  return digits.reduce((sum, digit) => sum * radix + digit, 0);
}
