import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { dashboardKubeconfig } from '../../../deploy/service-accounts.ts';
import { aFleet, runningTemplate, until } from '../../../integration/fleet.ts';
import { aBrowser, aContext, textIn } from '../page/fixture/browser.ts';
import { resultOf } from '../page/fixture/dashboards.ts';
import { Proxied } from './proxied.ts';
import { ReverseProxy } from './reverse-proxy.ts';
import { grant, LOOK, STEER } from './users.ts';

const fleet = aFleet();
const browser = aBrowser();
const card = (page: Page) => page.getByRole('article').getByRole('link', { name: 'web', exact: true });

test('two users in two browsers behind one proxy, which serves the page below a path, each see and steer their own, until they are signed out', async () => {
  const [shop, bank] = [await fleet().namespace(), await fleet().namespace()];
  for (const namespace of [shop, bank])
    await fleet().createPool(namespace, 'web', { replicas: 1, template: runningTemplate });
  await grant(fleet().kube, shop, { kind: 'User', name: 'ada' }, STEER);
  await grant(fleet().kube, bank, { kind: 'Group', name: `of-${bank}` }, LOOK);

  const proxy = await ReverseProxy.start({ below: '/tools/drover' });
  onTestFinished(() => proxy.close());
  const env = { DROVER_DASHBOARD_NAMESPACES: `${shop},${bank}`, DROVER_DASHBOARD_ORIGINS: proxy.origin };
  const proxied = await Proxied.start(await dashboardKubeconfig(fleet()), env, { streamMs: 2_000 });
  proxy.leadTo(proxied);
  proxy.users.set('ada', []);
  proxy.users.set('bob', ['everybody', `of-${bank}`]);

  const signIn = async (user: string): Promise<Page> => {
    const page = await (await aContext(browser(), { ignoreHTTPSErrors: true })).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${proxy.origin}/sign-in/${user}`);
    await page.locator('[data-live="live"]').waitFor();
    return page;
  };
  const [adas, bobs] = await Promise.all([signIn('ada'), signIn('bob')]);
  for (const [page, user, own, other] of [
    [adas, 'ada', shop, bank],
    [bobs, 'bob', bank, shop],
  ] as const) {
    await card(page).waitFor();
    expect(await card(page).count()).toBe(1);
    const text = await page.locator('body').innerText();
    expect(text).toContain(`${user} on https://`);
    expect(text).toContain(own);
    expect(text).not.toContain(other);
  }

  await card(adas).click();
  await adas.getByRole('button', { name: 'Pause web', exact: true }).first().click();
  const dialog = adas.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('asked for by a test');
  await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
  expect(await resultOf(adas)).toContain('paused');
  expect((await fleet().pool(shop, 'web'))!.status!.rollout!.paused).toMatchObject({ by: 'ada' });
  await card(bobs).click();
  const button = bobs.getByRole('button', { name: 'Pause web', exact: true });
  await until(async () => expect(await button.first().getAttribute('aria-disabled')).toBe('true'));

  // Streams end and come back all the time, and nobody sees it.
  await bobs.evaluate(`new MutationObserver(() => (document.body.dataset.changed = 'yes')).observe(
    document.querySelector('[data-live]'), { attributeFilter: ['data-live'] })`);
  const { opened } = proxy;
  await until(async () => expect(proxy.opened).toBeGreaterThan(opened + 4));
  expect(await bobs.evaluate('document.body.dataset.changed')).toBeUndefined();
  await bobs.context().clearCookies();
  await bobs.locator('[data-live="signed-out"]').waitFor();
  expect(await textIn(bobs, '.banner')).toContain('You are signed out. What you see is from ');
  expect(await adas.locator('[data-live="live"]').count()).toBe(1);

  // The sign-in drops what the address has after `#`.
  await bobs.getByRole('button', { name: 'Sign in again' }).click();
  await bobs.getByRole('link', { name: 'bob' }).click();
  await bobs.locator('[data-live="live"]').waitFor();
  expect(bobs.url()).toBe(`${proxy.origin}/tools/drover/#/pool/${bank}/web`);
});

test('a user who signs in in the browser of another sees nothing of them', async () => {
  const [shop, bank] = [await fleet().namespace(), await fleet().namespace()];
  for (const namespace of [shop, bank]) await fleet().createPool(namespace, 'web', { replicas: 1 });
  const [first, second] = [`ada-${shop}`, `bob-${bank}`];
  await grant(fleet().kube, shop, { kind: 'User', name: first }, LOOK);
  await grant(fleet().kube, bank, { kind: 'User', name: second }, LOOK);
  const proxy = await ReverseProxy.start();
  onTestFinished(() => proxy.close());
  const env = { DROVER_DASHBOARD_NAMESPACES: `${shop},${bank}`, DROVER_DASHBOARD_ORIGINS: proxy.origin };
  proxy.leadTo(await Proxied.start(await dashboardKubeconfig(fleet()), env));
  for (const user of [first, second]) proxy.users.set(user, []);

  const context = await aContext(browser(), { ignoreHTTPSErrors: true });
  const [one, other] = [await context.newPage(), await context.newPage()];
  await one.goto(`${proxy.origin}/sign-in/${first}`);
  await one.locator('[data-live="live"]').waitFor();
  await one.getByText(`${first} on`).waitFor();
  await other.goto(`${proxy.origin}/sign-in/${second}`);
  await other.locator('[data-live="live"]').waitFor();
  expect(await other.locator('body').innerText()).toContain(`${second} on`);
  expect(await other.locator('body').innerText()).not.toContain(shop);
});
