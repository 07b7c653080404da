/**
 * One tip for all squares, with the name and the state of the VM under the pointer or in focus. Screen readers have the
 * same from the square itself.
 */
export function showTips(): void {
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.popover = 'manual';
  tip.setAttribute('aria-hidden', 'true');
  document.body.append(tip);
  const hide = (): void => tip.hidePopover();
  const show = ({ target }: Event): void => {
    const square = target instanceof Element ? target.closest('vm-squares [data-s]') : null;
    if (square === null) return hide();
    tip.textContent = square.getAttribute('aria-label');
    tip.showPopover();
    const { left, top, width } = square.getBoundingClientRect();
    const most = document.documentElement.clientWidth - tip.offsetWidth - 4;
    tip.style.left = `${Math.max(4, Math.min(left + width / 2 - tip.offsetWidth / 2, most))}px`;
    tip.style.top = `${Math.max(4, top - tip.offsetHeight - 6)}px`;
  };
  document.addEventListener('pointerover', show);
  document.addEventListener('focusin', show);
  document.addEventListener('focusout', hide);
  document.addEventListener('scroll', hide, { capture: true, passive: true });
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') hide();
  });
}
