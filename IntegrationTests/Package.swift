// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

// Tests against other people's software. Each folder has a `run` that fetches and starts what it needs; `check` runs all.
let package = Package(
    name: "IntegrationTests",
    platforms: [.iOS(.v15), .macOS(.v12)],
    dependencies: [.package(name: "PulseKit", path: "..")],
    targets: [
        .testTarget(
            name: "EncodingTests",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "PulseTesting", package: "PulseKit"),
            ],
            path: "encoding/Tests")
    ],
    swiftLanguageModes: [.v6]
)
