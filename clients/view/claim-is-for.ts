/** What a claim on the budget of a pool is for, by the id of the workflow that holds it. */
export function claimIsFor({ by, migration }: { by: string; migration?: number }): string {
  if (migration !== undefined) return 'it moves to another node';
  const [kind, , , , what] = by.split('/');
  if (kind === 'operation') return claimIsBy(by);
  return what === 'update' ? 'the rollout' : by;
}

/** The object that has the workflow of this id disrupt VMs: `pool shop/web`. */
export function claimIsBy(by: string): string {
  const [kind = '', , namespace, name] = by.split('/');
  if (kind !== 'operation' && kind !== 'pool') return by;
  return `${kind} ${namespace === '-' ? name : `${namespace}/${name}`}`;
}
