// SPDX-License-Identifier: MIT
print("demo")
