import type { LabelSelector } from '../../api/pool/pool.ts';

/** Follows Kubernetes' rule: every label and every expression must match; an empty selector matches everything. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  for (const [key, value] of Object.entries(matchLabels)) if (labels[key] !== value) return false;
  for (const { key, operator, values = [] } of matchExpressions) {
    const value = labels[key];
    const holds =
      operator === 'Exists'
        ? value !== undefined
        : operator === 'DoesNotExist'
          ? value === undefined
          : operator === 'In'
            ? value !== undefined && values.includes(value)
            : value === undefined || !values.includes(value);
    if (!holds) return false;
  }
  return true;
}
