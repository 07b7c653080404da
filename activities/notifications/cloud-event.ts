import { createHash, createHmac } from 'node:crypto';
import { keyOfSecret, type Receiver } from '../../api/notifications/receivers.ts';
import { ENDED, TEST_TYPE } from '../../api/notifications/types.ts';
import { eventIdOf, type Outgoing } from '../../decisions/notifications/outbox.ts';

/** A CloudEvent 1.0, in JSON. */
export interface CloudEvent {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  subject: string;
  /** RFC 3339. */
  time: string;
  datacontenttype: 'application/json';
  data: Record<string, unknown>;
}

/** Returns the CloudEvent that tells this. */
export function cloudEventOf(cluster: string, outgoing: Outgoing): CloudEvent {
  const { type, id, about, phase, at, since, reason, message, command } = outgoing;
  const { kind, namespace, name, vm } = about;
  const where = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const hasEnded = phase === 'ended';
  return {
    specversion: '1.0',
    id: eventIdOf(outgoing),
    source: `/drover/${cluster}${where}/${kind.toLowerCase()}s/${name}`,
    type: hasEnded ? `${type}${ENDED}` : type,
    subject: vm ?? name,
    time: hasEnded ? new Date(at).toISOString() : since,
    datacontenttype: 'application/json',
    data: {
      cluster,
      ...about,
      since,
      ...(hasEnded ? { began: id } : { reason, message }),
      command,
    },
  };
}

/** A CloudEvent that says nothing, to try a receiver. */
export const testEvent = (cluster: string, id: string, now: Date): CloudEvent => ({
  specversion: '1.0',
  id: `test-${id}`,
  source: `/drover/${cluster}`,
  type: TEST_TYPE,
  subject: 'test',
  time: now.toISOString(),
  datacontenttype: 'application/json',
  data: { cluster, message: 'drover reaches this receiver' },
});

/** What is sent to a receiver. */
export interface Parcel {
  headers: Record<string, string>;
  body: string;
}

/**
 * Packs events for a receiver, one alone or several as a batch, and signs them by Standard Webhooks with each of its
 * secrets.
 */
export function parcelOf(
  { secrets, authorization, batch }: Receiver,
  events: readonly CloudEvent[],
  now: Date,
): Parcel {
  const body = JSON.stringify(batch ? events : events[0]);
  const ids = events.map(({ id }) => id);
  const id = batch ? createHash('sha256').update(ids.join('/')).digest('hex').slice(0, 32) : ids[0]!;
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const signatures = secrets.map((secret) => {
    const mac = createHmac('sha256', keyOfSecret(secret)).update(`${id}.${timestamp}.${body}`);
    return `v1,${mac.digest('base64')}`;
  });
  return {
    body,
    headers: {
      'content-type': `application/cloudevents${batch ? '-batch' : ''}+json; charset=utf-8`,
      'user-agent': 'drover',
      ...(authorization === undefined ? {} : { authorization }),
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
    },
  };
}
