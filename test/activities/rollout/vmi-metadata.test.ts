import { expect, test } from 'vitest';
import { vmiMetadataPatch } from '../../../activities/rollout/vmi-metadata.ts';
import type { VmTemplate } from '../../../api/pool/pool.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';

const template = (labels: Record<string, string>, sockets = 1): VmTemplate => ({
  spec: { runStrategy: 'Always', template: { metadata: { labels }, spec: { domain: { cpu: { sockets } } } } },
});
const [plain, gold] = [template({}), template({ tier: 'gold' })];
const MARK = 'drover.dev/pod-revision';

test('a pod that lacks something is recorded until it is of the template again', () => {
  const mark = { [MARK]: `${revisionOf(plain)}@p` };
  const unmarked = { pod: 'p', podRevision: null };
  expect(vmiMetadataPatch('web', plain, gold, unmarked).annotations).toEqual(mark);
  expect(vmiMetadataPatch('web', plain, template({}, 2), unmarked).annotations).toBeUndefined();
  expect(vmiMetadataPatch('web', plain, gold, { pod: null, podRevision: null }).annotations).toBeUndefined();
  const marked = { pod: 'p', podRevision: revisionOf(plain) };
  // The first template stays noted: it is what the pod was made from.
  expect(vmiMetadataPatch('web', gold, template({ tier: 'silver' }), marked).annotations).toBeUndefined();
  expect(vmiMetadataPatch('web', gold, plain, marked).annotations).toEqual({ [MARK]: null });
});
