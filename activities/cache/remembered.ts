/** Returns a function that asks only once for each argument: for many questions about one moment. */
export function remembered<Of, Answer>(ask: (of: Of) => Answer): (of: Of) => Answer {
  const known = new Map<Of, Answer>();
  return (of) => {
    if (!known.has(of)) known.set(of, ask(of));
    return known.get(of)!;
  };
}
