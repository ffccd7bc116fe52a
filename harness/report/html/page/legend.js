"use strict";
// What a number means: shown on hover, focus and tap, in one element.

const tip = document.getElementById("tip");
let tipOwner = null;

function tipText(node) {
  const parts = [];
  if (node.dataset.tip) parts.push(node.dataset.tip);
  if (node.dataset.legend && LEGENDS[node.dataset.legend]) parts.push(LEGENDS[node.dataset.legend]);
  return parts.join("\n");
}
function showTip(node) {
  const text = tipText(node);
  if (!text) return;
  tipOwner = node;
  tip.textContent = text;
  tip.hidden = false;
  node.setAttribute("aria-describedby", "tip");
  const box = node.getBoundingClientRect();
  const width = tip.offsetWidth, height = tip.offsetHeight;
  const left = Math.max(8, Math.min(window.innerWidth - width - 8, box.left));
  const below = box.bottom + 6 + height < window.innerHeight;
  tip.style.left = left + "px";
  tip.style.top = (below ? box.bottom + 6 : Math.max(8, box.top - height - 6)) + "px";
}
function hideTip() {
  if (tipOwner) tipOwner.removeAttribute("aria-describedby");
  tipOwner = null;
  tip.hidden = true;
}
function ownerOf(target) { return target instanceof Element ? target.closest("[data-legend],[data-tip]") : null; }

document.addEventListener("mouseover", (event) => {
  const owner = ownerOf(event.target);
  if (owner === tipOwner) return;
  hideTip();
  if (owner) showTip(owner);
});
document.addEventListener("focusin", (event) => {
  const owner = ownerOf(event.target);
  hideTip();
  if (owner) showTip(owner);
});
document.addEventListener("focusout", hideTip);
document.addEventListener("pointerup", (event) => {
  if (event.pointerType === "mouse") return;
  const owner = ownerOf(event.target);
  setTimeout(() => { if (owner && owner.isConnected) showTip(owner); else hideTip(); }, 0);
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
window.addEventListener("scroll", hideTip, true);
