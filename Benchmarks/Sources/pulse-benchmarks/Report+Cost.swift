// SPDX-License-Identifier: MIT

import Reporting

extension Report {
    mutating func heading(_ title: String) {
        heading(title, ["minimum", "median", "allocations"])
    }

    mutating func row(_ name: String, _ cost: Cost) {
        row(
            name,
            [
                Self.decimal(cost.minimum, 0) + " ns", Self.decimal(cost.median, 0) + " ns",
                cost.allocations.map { Self.decimal($0, 1) } ?? "-",
            ])
    }
}
