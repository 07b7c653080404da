/** What a claim is for, by the id of the workflow that holds it. */
export function claimIsFor({ by, migration }: { by: string; migration?: number }): string {
  if (migration !== undefined) return 'it moves to another node';
  const [kind, , namespace, name, what] = by.split('/');
  if (kind === 'operation') return `operation ${namespace === '-' ? name : `${namespace}/${name}`}`;
  return what === 'update' ? 'the rollout' : by;
}
