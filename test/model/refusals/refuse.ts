import { KubeError } from '../../../kubernetes/errors.ts';
import type { Call } from '../world/model-client.ts';
import type { World } from '../world/world.ts';

/** What the API server may refuse of a worker for a while. */
export type RefusedCall = 'delete' | 'write' | 'subresource';

const MEMBERS = new Set(['virtualmachines', 'virtualmachineinstances']);

/** Has the API server refuse such calls of workers about the member of this name, or about all, for a while. */
export function refuseFor(
  world: World,
  { what, name, ms }: { what: RefusedCall; name: string | null; ms: number },
): void {
  world.say(`-- the API server refuses any ${what} of ${name ?? 'all VMs'} for ${ms} ms`);
  const refusal = new KubeError(403, 'Forbidden', 'admission webhook "policy" denied the request');
  const refuse = (call: Call): KubeError | null => (isRefused(call, what, name) ? refusal : null);
  world.refuse = refuse;
  void world.wait(ms).then(() => {
    if (world.refuse === refuse) endRefusals(world);
  });
}

export function endRefusals(world: World): void {
  world.say('-- the API server refuses nothing any more');
  world.refuse = () => null;
}

function isRefused({ verb, resource, key }: Call, what: RefusedCall, name: string | null): boolean {
  const isMeant = name === null || key.name?.split('/').includes(name) === true;
  if (what === 'subresource') return isMeant && verb === 'request';
  const isMember = resource !== null && MEMBERS.has(resource.plural);
  return isMeant && isMember && (what === 'delete' ? verb === 'delete' : verb === 'patch' || verb === 'update');
}
