import * as z from 'zod';
import { UsageError } from '../../cli/failure.ts';
import type { ActionRequest } from '../contract/requests.ts';
import { TYPED } from '../view/actions.ts';

const Name = z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'must be the name of an object');
/** As long as a pool's status accepts. */
const Text = z.string().max(1_024);
const about = (...kinds: string[]) => z.strictObject({ kind: z.enum(kinds), namespace: Name.nullable(), name: Name });
const COMMON = { reason: Text.optional(), confirm: Text.optional() };

const OfPool = z.strictObject({
  action: z.enum([
    'rollout.pause',
    'rollout.resume',
    'rollout.promote',
    'rollout.abort',
    'rollout.undo',
    'heal.pause',
    'heal.resume',
    'heal.now',
    'heal.skip',
  ]),
  about: about('VirtualMachinePool'),
  vms: z.array(Name).max(500).optional(),
  full: z.boolean().optional(),
  revision: Text.optional(),
  ...COMMON,
});
const OfOperation = z.strictObject({
  action: z.enum(['operation.pause', 'operation.resume', 'operation.abort']),
  about: about('VirtualMachineOperation', 'ClusterVirtualMachineOperation'),
  ...COMMON,
});
const OfSchedule = z.strictObject({
  action: z.enum(['schedule.suspend', 'schedule.resume']),
  about: about('VirtualMachineOperationSchedule'),
  ...COMMON,
});
const OfNode = z.strictObject({
  action: z.enum(['drain.start', 'drain.cancel']),
  about: z.strictObject({ kind: z.literal('Node'), namespace: z.null(), name: Name }),
  shutDown: z.boolean().optional(),
  ...COMMON,
});
const RequestBody = z.discriminatedUnion('action', [OfPool, OfOperation, OfSchedule, OfNode]);

/** Reads what a browser has sent. Throws `UsageError` if it is not a request, or lacks the name that must be typed. */
export function readActionRequest(body: unknown): ActionRequest {
  const { data, error } = RequestBody.safeParse(body);
  if (data === undefined)
    throw new UsageError(`this is not a request: ${z.prettifyError(error).replaceAll('\n', ' ')}`);
  const { name } = data.about;
  if (TYPED.includes(data.action) && data.confirm !== name)
    throw new UsageError(`type the name ${name} to confirm: this is not easily undone`);
  return data as ActionRequest;
}
