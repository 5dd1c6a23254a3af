// The search takes "-" before a word for "not". Here it begins an option: --cluster finds what cluster finds.
document.querySelectorAll("[data-md-component=search-query]").forEach((input) => {
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
  Object.defineProperty(input, "value", {
    get() { return get.call(this).replace(/(^|\s)-+(?=\w)/g, "$1"); },
    set,
  });
});
